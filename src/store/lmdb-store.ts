/**
 * The store contract over LMDB, for the state thread: commits are synchronous there, so that an error of the
 * disk is an exception of the commit it belongs to. Pages reach the kernel before a commit returns and the
 * disk soon after it (overlapping sync), so a power cut costs at most the last second.
 */
import { statfsSync } from 'node:fs';
import { open, type RootDatabase } from 'lmdb';
import { refusals } from '../errors.js';
import type { Change, Key, StoredRecord } from './store.js';

/** Sorts after every string that continues a prefix: no UTF-8 text has this byte. */
const LAST = Uint8Array.of(0xff);
const FORMAT_KEY = ['format'];
const FORMAT = 1;
const FULL = /No space left on device|MDB_MAP_FULL|Disk quota exceeded/;
/** A disk with less room than this counts as full when a write on it failed. */
const LEAST_FREE = 1024 * 1024;

export class LmdbStore {
  readonly #folder: string;
  readonly #database: RootDatabase<unknown>;

  constructor(folder: string) {
    this.#folder = folder;
    this.#database = open<unknown>({ path: folder, encoding: 'msgpack', noSubdir: false });
    this.#checkFormat();
  }

  commit(changes: readonly Change[]): void {
    try {
      this.#database.transactionSync(() => {
        for (const change of changes) this.#apply(change);
      });
    } catch (error) {
      throw this.#isFull(error) ? refusals.diskFull(error) : error;
    }
  }

  load(prefix: Key): StoredRecord[] {
    const records: StoredRecord[] = [];
    for (const { key, value } of this.#database.getRange(rangeOf(prefix))) {
      // A path of one part comes back as that part.
      records.push({ key: [key].flat() as string[], value });
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

  /** LMDB tells by wording, and calls it an input/output error when a part of what it wrote found room. */
  #isFull(error: unknown): boolean {
    if (!(error instanceof Error)) return false;
    if (FULL.test(error.message)) return true;
    if (!error.message.includes('Input/output error')) return false;
    const { bavail, bsize } = statfsSync(this.#folder);
    return bavail * bsize < LEAST_FREE;
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

function rangeOf(prefix: Key): { start: string[]; end: (string | Uint8Array)[] } {
  return { start: [...prefix], end: [...prefix, LAST] };
}
