/**
 * The store contract over LMDB, for the state thread: commits are synchronous there, so that an error of the
 * disk is an exception of the commit it belongs to. Pages reach the kernel before a commit returns and the
 * disk soon after it (overlapping sync), so a power cut costs at most the last second.
 */
import { open, type RootDatabase } from 'lmdb';
import type { Change, Key, StoredRecord } from './store.js';

/** Sorts after every string that continues a prefix. */
const LAST = '\uffff';
const FORMAT_KEY = ['format'];
const FORMAT = 1;

export class LmdbStore {
  readonly #database: RootDatabase<unknown>;

  constructor(folder: string) {
    this.#database = open<unknown>({ path: folder, encoding: 'msgpack', noSubdir: false });
    this.#checkFormat();
  }

  commit(changes: readonly Change[]): void {
    this.#database.transactionSync(() => {
      for (const change of changes) this.#apply(change);
    });
  }

  load(prefix: Key): StoredRecord[] {
    const records: StoredRecord[] = [];
    for (const { key, value } of this.#database.getRange(rangeOf(prefix))) {
      records.push({ key: key as string[], value });
    }
    return records;
  }

  async close(): Promise<void> {
    await this.#database.flushed;
    await this.#database.close();
  }

  #apply(change: Change): void {
    if ('put' in change) {
      void this.#database.put([...change.put], change.value);
    } else if ('remove' in change) {
      void this.#database.remove([...change.remove]);
    } else {
      const keys = [...this.#database.getKeys(rangeOf(change.clear))];
      for (const key of keys) void this.#database.remove(key);
    }
  }

  #checkFormat(): void {
    const format = this.#database.get(FORMAT_KEY);
    if (format === undefined) this.commit([{ put: FORMAT_KEY, value: FORMAT }]);
    else if (format !== FORMAT) {
      throw new Error(
        `The state folder has format ${JSON.stringify(format)}, this Wirefarm reads format ${FORMAT}`,
      );
    }
  }
}

function rangeOf(prefix: Key): { start: string[]; end: string[] } {
  return { start: [...prefix], end: [...prefix, LAST] };
}
