/**
 * Keys of records in etcd: percent-encoded parts, joined by slashes, below a prefix. What belongs to the store itself
 * lies below `@`, which no encoded part begins with.
 */
import type { Key } from '../store.js';

/** Longer keys are refused, as every store does. */
const LONGEST_KEY = 4096;

/** Keys of etcd from one on and before another; without `to` it is the one key. */
export interface KeyRange {
  readonly from: string;
  readonly to?: string;
}

export class EtcdKeys {
  readonly #root: string;
  /** The number of the form in which everything is stored. */
  readonly format: string;
  /** Written with every commit of records: its revision is that of the last one. */
  readonly last: string;
  /** A large commit that is being applied. */
  readonly large: string;
  /** Written together with each step of the application of a large commit. */
  readonly largeStep: string;

  constructor(prefix: string) {
    this.#root = prefix;
    this.format = `${prefix}/@format`;
    this.last = `${prefix}/@last`;
    this.large = `${prefix}/@large`;
    this.largeStep = `${prefix}/@large-step`;
  }

  /** Everything of the store. */
  get all(): KeyRange {
    return { from: `${this.#root}/`, to: `${this.#root}0` };
  }

  /** The last link of the commits by the holder of a scope. */
  chain(scope: string): string {
    return `${this.#root}/@chain/${encodeURIComponent(scope)}`;
  }

  /** The last link of commits without a claim. */
  unclaimedChain(name: string): string {
    return `${this.#root}/@unclaimed/${encodeURIComponent(name)}`;
  }

  /** The parts of the large commits of a server, or of one of them. */
  parts(server: string, commit?: string): KeyRange {
    return below(
      `${this.#root}/@part/${encodeURIComponent(server)}${commit === undefined ? '' : `/${commit}`}`,
    );
  }

  part(server: string, commit: string, number: number): string {
    return `${this.parts(server, commit).from}${String(number).padStart(6, '0')}`;
  }

  owner(scope: string): string {
    return this.record(['owner', scope]);
  }

  record(key: Key): string {
    if (key.length === 0 || key.includes('')) throw new Error('A key of the store has an empty part');
    const path = `${this.#root}/${key.map(encodeURIComponent).join('/')}`;
    if (path.length > LONGEST_KEY) throw new Error(`A key of the store is too long: ${path.length}`);
    return path;
  }

  /** The record at a path and all below it. Between them lie others: a slash is not the lowest character. */
  ranges(path: Key): readonly KeyRange[] {
    if (path.length === 0) return [this.all];
    const at = this.record(path);
    return [{ from: at }, below(at)];
  }

  /** The key of a record; undefined for what belongs to the store itself. */
  keyOf(path: string): Key | undefined {
    const rest = path.slice(this.#root.length + 1);
    return rest.startsWith('@') ? undefined : rest.split('/').map(decodeURIComponent);
  }
}

/** A zero comes behind a slash. */
function below(path: string): KeyRange {
  return { from: `${path}/`, to: `${path}0` };
}

/** The order of keys: part by part. */
export function compareKeys(a: Key, b: Key): number {
  for (let index = 0; index < a.length && index < b.length; index++) {
    const [left = '', right = ''] = [a[index], b[index]];
    if (left !== right) return left < right ? -1 : 1;
  }
  return a.length - b.length;
}
