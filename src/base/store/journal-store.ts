/**
 * The store on a journal, in the state thread. A commit is one frame, which is synced before it is acknowledged; an
 * index in memory has the place of each value. When most of the journal is outdated, a new one replaces it.
 */
import { statfsSync } from 'node:fs';
import { unpack } from 'msgpackr';
import { refusals } from '../errors/errors.js';
import { syncFolder } from '../disk/published-file.js';
import type { JournalFile } from './journal-file.js';
import { entriesOf, FRAMES_START, type RawChange } from './journal-format.js';
import {
  groupsOf,
  openJournal,
  removePrevious,
  replaceJournal,
  valueAt,
  type Notice,
} from './journal-opening.js';
import { packChanges, unpackRawChanges } from './packing.js';
import type { RecordIndex } from './record-index.js';
import type { Change, Key, Packed, StoredRecord } from './store.js';

const MEBIBYTE = 1024 * 1024;
/** A journal is replaced when it has so many outdated bytes for each byte of its records, */
const OUTDATED_FOR_ONE = 3;
/** or this many where that is less; but those of all records at least, */
const MUCH_OUTDATED = 16 * MEBIBYTE;
/** and no fewer than these, */
const LEAST_OUTDATED = 4 * MEBIBYTE;
/** unless the disk is full; then this is the limit. */
const LEAST_OUTDATED_WHEN_FULL = MEBIBYTE / 16;
/** After a failed replacement, the journal must grow by so much before the next attempt. */
const RETRY_AFTER = MEBIBYTE / 4;
const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const READ_AHEAD = 32 * 1024;

export class JournalStore {
  readonly #folder: string;
  readonly #notices: Notice[] = [];
  #file: JournalFile;
  #index: RecordIndex;
  /** False while a power cut might bring back the journal before this one. */
  #isNameSynced = true;
  #replaceFrom = 0;

  constructor(folder: string) {
    this.#folder = folder;
    ({ file: this.#file, index: this.#index } = openJournal(folder, this.#notices));
  }

  /** Messages about the opening of the store. */
  get notices(): readonly Notice[] {
    return this.#notices;
  }

  /** The number of the last commit. */
  get number(): number {
    return this.#file.number;
  }

  commit(changes: readonly Change[]): void {
    this.commitPacked([packChanges(changes)]);
  }

  /** The changes of a companion are the last `along`. They do not count when a commit has to make the store smaller. */
  commitPacked(parts: readonly Packed[], along = 0): void {
    const changes = parts.flatMap(unpackRawChanges);
    const own = changes.slice(0, changes.length - along);
    if (changes.length === 0) return;
    try {
      this.#syncName();
      this.#append(changes, own);
    } catch (error) {
      throw refusalOf(error);
    }
    if (this.#outdated > mostOutdated(this.#index.bytes)) this.#replace();
  }

  load(prefix: Key): StoredRecord[] {
    const window = this.#file.window(READ_AHEAD);
    const records: StoredRecord[] = [];
    for (const { key, place } of this.#index.under(prefix)) {
      records.push({ key, value: unpack(valueAt(window, key, place)) });
    }
    return records;
  }

  close(): void {
    this.#file.close();
  }

  /** The number of bytes in the journal that no record needs any more. */
  get #outdated(): number {
    return this.#file.end - FRAMES_START - this.#index.bytes;
  }

  #append(changes: readonly RawChange[], own: readonly RawChange[]): void {
    try {
      this.#appendOnce(changes, own);
    } catch (error) {
      const isWorthIt =
        isFull(error) && this.#outdated > Math.max(LEAST_OUTDATED_WHEN_FULL, this.#index.bytes / 4);
      if (!isWorthIt || !this.#replace()) throw error;
      this.#syncName();
      removePrevious(this.#folder);
      this.#appendOnce(changes, own);
    }
  }

  #appendOnce(changes: readonly RawChange[], own: readonly RawChange[]): void {
    const { bytes, position } = this.#file.append(changes, () => this.#makesSmaller(own));
    for (const entry of entriesOf(bytes, position)) this.#index.apply(entry);
  }

  /** Whether the store is not larger after these changes, of which there are some. */
  #makesSmaller(changes: readonly RawChange[]): boolean {
    if (changes.length === 0) return false;
    let bytes = 0;
    for (const change of changes) {
      bytes +=
        change.kind === 'put'
          ? change.value.length + change.key.join('').length
          : -this.#index.bytesOf(change);
    }
    return bytes <= 0;
  }

  /** Writes the records to a new journal, which replaces this one. Returns false when that is not possible now. */
  #replace(): boolean {
    const { end, number } = this.#file;
    if (end < this.#replaceFrom || !this.#hasRoom()) return false;
    try {
      const made = replaceJournal(this.#folder, number, groupsOf(this.#index, this.#file.window(MEBIBYTE)));
      const replaced = this.#file;
      ({ file: this.#file, index: this.#index } = made);
      this.#isNameSynced = false;
      this.#replaceFrom = 0;
      replaced.abandon();
      return true;
    } catch {
      this.#replaceFrom = end + RETRY_AFTER;
      return false;
    }
  }

  #hasRoom(): boolean {
    const needed = this.#index.bytes + this.#file.roomAhead;
    if (this.#free() < needed) removePrevious(this.#folder);
    return this.#free() >= needed;
  }

  #free(): number {
    const { bavail, bsize } = statfsSync(this.#folder);
    return bavail * bsize;
  }

  #syncName(): void {
    if (this.#isNameSynced) return;
    syncFolder(this.#folder);
    this.#isNameSynced = true;
  }
}

/** A replacement holds up all commits for as long as it takes to copy the records, so it comes the more rarely the more there are. */
function mostOutdated(bytes: number): number {
  return Math.max(LEAST_OUTDATED, bytes, Math.min(OUTDATED_FOR_ONE * bytes, MUCH_OUTDATED));
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && FULL.includes(String(error.code));
}

/** Errors of the disk become refusals for the client; any other error is a fault of this server. */
function refusalOf(error: unknown): unknown {
  if (isFull(error)) return refusals.diskFull(error);
  if (error instanceof Error && 'syscall' in error && 'code' in error) {
    return refusals.diskFailing(String(error.code), error);
  }
  return error;
}
