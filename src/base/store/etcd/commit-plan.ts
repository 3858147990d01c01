/** The changes of a commit as operations of etcd, which takes each key once in a transaction, and in no order. */
import type { RawChange } from '../journal-format.js';
import type { Operation } from './etcd-client.js';
import type { EtcdKeys, KeyRange } from './etcd-keys.js';

/** The most of one transaction. The limits of etcd are 128 operations of one level, and 1.5 MiB. */
const MOST_OPERATIONS = 1024;
const MOST_BYTES = 1024 * 1024;
const OPERATIONS_OF_A_GROUP = 64;
/** Bytes of an operation besides its key and its value. */
const BYTES_OF_AN_OPERATION = 48;
/** A larger value fits in no transaction. */
export const LARGEST_VALUE = 1280 * 1024;

export class CommitPlan {
  readonly #keys: EtcdKeys;
  /** The last value of each key, in the order of the changes; undefined where it is removed. */
  readonly #values = new Map<string, Uint8Array | undefined>();
  readonly #cleared = new Set<string>();

  constructor(keys: EtcdKeys, changes: readonly RawChange[]) {
    this.#keys = keys;
    for (const change of changes) this.#add(change);
  }

  #add({ kind, key, value }: RawChange): void {
    const path = this.#keys.record(key);
    this.#values.delete(path);
    if (kind !== 'clear') {
      this.#values.set(path, kind === 'put' ? value : undefined);
      return;
    }
    for (const paths of [this.#values, this.#cleared]) {
      for (const other of paths.keys()) if (isAtOrBelow(other, path)) paths.delete(other);
    }
    this.#cleared.add(path);
  }

  /** Operations of one transaction; undefined when they are too many, or too large. */
  get operations(): readonly Operation[] | undefined {
    const cleared = [...this.#cleared].flatMap((path) => this.#clearing(path));
    const [only, ...more] = grouped([...cleared, ...this.#setting()]);
    return more.length === 0 ? inGroups(only ?? []) : undefined;
  }

  /** Operations of several transactions, which have to be applied in order. */
  *steps(): Generator<readonly Operation[]> {
    const cleared = [...this.#cleared].flatMap((path) =>
      [at(path), below(path)].map((remove) => ({ remove })),
    );
    for (const group of grouped(cleared)) yield inGroups(group);
    for (const group of grouped(this.#setting())) yield inGroups(group);
  }

  /** Removes what lies below the path, but for what is put. */
  #clearing(path: string): Operation[] {
    const kept = [...this.#values]
      .flatMap(([key, value]) => (value !== undefined && isAtOrBelow(key, path) ? [key] : []))
      .sort();
    const ranges: KeyRange[] = kept[0] === path ? [] : [at(path)];
    const { from: first, to } = below(path);
    let from = first;
    for (const key of kept) {
      if (key === path) continue;
      ranges.push({ from, to: key });
      from = `${key}\0`;
    }
    return [...ranges, { from, to }].map((remove) => ({ remove }));
  }

  #setting(): Operation[] {
    const cleared = [...this.#cleared];
    return [...this.#values].flatMap(([key, value]): Operation[] => {
      if (value !== undefined) return [{ put: key, value }];
      return cleared.some((path) => isAtOrBelow(key, path)) ? [] : [{ remove: at(key) }];
    });
  }
}

const isAtOrBelow = (key: string, path: string): boolean =>
  key.startsWith(path) && (key.length === path.length || key[path.length] === '/');
const at = (path: string): KeyRange => ({ from: path });
const below = (path: string): { from: string; to: string } => ({ from: `${path}/`, to: `${path}0` });

/** The operations in as many lists as it takes, so that each fits in a transaction. */
function grouped(operations: readonly Operation[]): Operation[][] {
  const groups: Operation[][] = [];
  let group: Operation[] = [];
  let bytes = 0;
  for (const operation of operations) {
    const length = lengthOf(operation);
    if (group.length > 0 && (group.length >= MOST_OPERATIONS || bytes + length > MOST_BYTES)) {
      groups.push(group);
      group = [];
      bytes = 0;
    }
    group.push(operation);
    bytes += length;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}

function lengthOf(operation: Operation): number {
  if ('put' in operation) return operation.put.length + operation.value.length + BYTES_OF_AN_OPERATION;
  if ('remove' in operation) return 2 * operation.remove.from.length + BYTES_OF_AN_OPERATION;
  return BYTES_OF_AN_OPERATION;
}

function inGroups(operations: readonly Operation[]): Operation[] {
  const groups: Operation[] = [];
  for (let start = 0; start < operations.length; start += OPERATIONS_OF_A_GROUP) {
    groups.push({ all: operations.slice(start, start + OPERATIONS_OF_A_GROUP) });
  }
  return groups;
}
