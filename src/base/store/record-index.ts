/** The place of each record's value in the journal, in a tree of the parts of the keys. */
import type { JournalEntry, Place } from './journal-format.js';
import type { Key } from './store.js';

interface Record {
  readonly place: Place;
  readonly bytes: number;
}

/** A record, and the place of its value. */
interface PlacedRecord {
  readonly key: Key;
  readonly place: Place;
}

interface Branch {
  record?: Record | undefined;
  readonly below: Map<string, Branch>;
}

const newBranch = (): Branch => ({ below: new Map() });

export class RecordIndex {
  #root = newBranch();
  #bytes = 0;

  /** The length of the entries of all records in a journal. */
  get bytes(): number {
    return this.#bytes;
  }

  apply(entry: JournalEntry): void {
    if (entry.kind === 'put') this.#put(entry);
    else if (entry.kind === 'remove') this.#remove(entry.key);
    else this.#clear(entry.key);
  }

  /** Every record whose key starts with the prefix, in key order. */
  *under(prefix: Key): Generator<PlacedRecord> {
    const branch = this.#pathTo(prefix)?.at(-1);
    if (branch !== undefined) yield* recordsOf(branch, prefix);
  }

  /** Every record, in any order. For many records this takes a third of the time of `under`. */
  all(): PlacedRecord[] {
    const records: PlacedRecord[] = [];
    addRecords(this.#root, [], records);
    return records;
  }

  /** The length of the entries of those records that a change removes. */
  bytesOf({ kind, key }: Pick<JournalEntry, 'kind' | 'key'>): number {
    const branch = this.#pathTo(key)?.at(-1);
    if (branch === undefined) return 0;
    return kind === 'clear' ? bytesBelow(branch) : (branch.record?.bytes ?? 0);
  }

  #put({ key, place, bytes }: JournalEntry): void {
    let branch = this.#root;
    for (const part of key) {
      let next = branch.below.get(part);
      if (next === undefined) {
        next = newBranch();
        branch.below.set(part, next);
      }
      branch = next;
    }
    this.#bytes += bytes - (branch.record?.bytes ?? 0);
    branch.record = { place, bytes };
  }

  #remove(key: Key): void {
    const path = this.#pathTo(key);
    const branch = path?.at(-1);
    if (path === undefined || branch?.record === undefined) return;
    this.#bytes -= branch.record.bytes;
    branch.record = undefined;
    prune(path, key);
  }

  #clear(key: Key): void {
    const path = this.#pathTo(key);
    const branch = path?.at(-1);
    if (path === undefined || branch === undefined) return;
    this.#bytes -= bytesBelow(branch);
    branch.record = undefined;
    branch.below.clear();
    prune(path, key);
  }

  /** The branches from the root to the key, both included. */
  #pathTo(key: Key): Branch[] | undefined {
    const path = [this.#root];
    for (const part of key) {
      const next = path.at(-1)?.below.get(part);
      if (next === undefined) return undefined;
      path.push(next);
    }
    return path;
  }
}

/** Removes empty branches from the tree. */
function prune(path: readonly Branch[], key: Key): void {
  for (let depth = key.length; depth > 0; depth--) {
    const branch = path[depth];
    if (branch === undefined || branch.record !== undefined || branch.below.size > 0) return;
    path[depth - 1]?.below.delete(key[depth - 1] ?? '');
  }
}

function bytesBelow(branch: Branch): number {
  let bytes = branch.record?.bytes ?? 0;
  for (const below of branch.below.values()) bytes += bytesBelow(below);
  return bytes;
}

function* recordsOf(branch: Branch, key: Key): Generator<PlacedRecord> {
  if (branch.record !== undefined) yield { key, place: branch.record.place };
  for (const part of [...branch.below.keys()].sort()) {
    const below = branch.below.get(part);
    if (below !== undefined) yield* recordsOf(below, [...key, part]);
  }
}

function addRecords({ record, below }: Branch, key: Key, records: PlacedRecord[]): void {
  if (record !== undefined) records.push({ key, place: record.place });
  for (const [part, branch] of below) addRecords(branch, [...key, part], records);
}
