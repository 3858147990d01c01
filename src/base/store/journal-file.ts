/**
 * The journal that is written. The room for the next commits is filled with zeros and synced ahead. So a commit
 * overwrites blocks that the disk has already: it never finds the disk full, and syncs nothing but its own bytes.
 *
 * After a failed sync it is unknown which bytes are on the disk, and another sync would prove nothing, because the
 * system may have dropped them. So zeros are written in their place and synced before anything else is written.
 */
import { randomInt } from 'node:crypto';
import { closeSync, constants, fdatasyncSync, fsyncSync, ftruncateSync, openSync, statfsSync } from 'node:fs';
import { writeWhole } from '../disk/published-file.js';
import {
  encodeFrame,
  encodeHead,
  FRAME_HEAD_LENGTH,
  FRAMES_START,
  HEAD_PLACES,
  type JournalHead,
  type RawChange,
} from './journal-format.js';
import { JournalWindow, type JournalFinding, type FoundFrame } from './journal-reading.js';

const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
const MEBIBYTE = 1024 * 1024;
/** Room that only commits which make the store smaller may use, so that a full disk can be cleared up. */
const RESERVE = 2 * MEBIBYTE;
const LEAST_RESERVE = 64 * 1024;
/** The journal grows by an eighth of its length at a time, within these limits. */
const LEAST_STEP = 64 * 1024;
const MOST_STEP = MEBIBYTE;
const MARK_EVERY_MS = 1000;
const ZEROS = Buffer.alloc(64 * 1024);
const LARGEST_SALT = 2 ** 32;

export class JournalFile {
  readonly #fd: number;
  readonly #reserve: number;
  #head: JournalHead;
  #end: number;
  #number: number;
  #size: number;
  /** Up to here the disk may have bytes of a commit that was refused. */
  #doubtfulEnd = 0;
  #turn = 0;
  #markedAt = performance.now();

  private constructor(
    fd: number,
    path: string,
    head: JournalHead,
    end: number,
    number: number,
    size: number,
  ) {
    this.#fd = fd;
    this.#head = head;
    this.#end = end;
    this.#number = number;
    this.#size = size;
    const { blocks, bsize } = statfsSync(path);
    this.#reserve = Math.max(LEAST_RESERVE, Math.min(RESERVE, Math.floor((blocks * bsize) / 50)));
  }

  /** Makes and syncs a new journal, which has the changes as its base, in one frame for each group. */
  static create(
    path: string,
    base: number,
    groups: Iterable<readonly RawChange[]>,
    onFrame: (frame: FoundFrame) => void,
  ): JournalFile {
    const fd = openSync(path, CREATE, 0o600);
    try {
      const salt = randomInt(LARGEST_SALT);
      let end = FRAMES_START;
      for (const changes of groups) {
        const bytes = encodeFrame(salt, base, changes);
        writeWhole(fd, bytes, end);
        onFrame({ bytes, position: end });
        end += bytes.length;
      }
      const journal = new JournalFile(fd, path, { salt, base, baseEnd: end, marked: end }, end, base, end);
      // Synced before the room is made, which may be tried twice: a sync that fails then can lose zeros only.
      fsyncSync(fd);
      journal.#makeRoom(0, () => false);
      journal.#writeHeads();
      fsyncSync(fd);
      return journal;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Goes on with an undamaged journal that has been read, and removes a torn commit behind its end. */
  static resume(path: string, fd: number, head: JournalHead, found: JournalFinding): JournalFile {
    const size = new JournalWindow(fd, 0).size;
    const marked = { ...head, marked: found.end };
    const journal = new JournalFile(fd, path, marked, found.end, found.number, size);
    // An intact journal is not written to, so that a server starts on a full or read-only disk.
    if (found.isTorn) {
      journal.#doubtfulEnd = size;
      journal.#settle();
    }
    return journal;
  }

  /** The position of the next commit. */
  get end(): number {
    return this.#end;
  }

  /** The number of the last commit. */
  get number(): number {
    return this.#number;
  }

  /** A journal of this length has so much room behind it. */
  get roomAhead(): number {
    return FRAMES_START + this.#reserve + this.#step;
  }

  /** Reads the journal as it is now. */
  window(ahead: number): JournalWindow {
    return new JournalWindow(this.#fd, ahead);
  }

  /** Writes and syncs a commit. When this throws, the journal is as it was. */
  append(changes: readonly RawChange[], mayUseReserve: () => boolean): FoundFrame {
    const bytes = encodeFrame(this.#head.salt, this.#number + 1, changes);
    this.#settle();
    this.#makeRoom(bytes.length, mayUseReserve);
    const position = this.#end;
    try {
      this.#doubtfulEnd = position + bytes.length;
      if (performance.now() - this.#markedAt > MARK_EVERY_MS) this.#mark();
      writeWhole(this.#fd, bytes, position);
      fdatasyncSync(this.#fd);
    } catch (error) {
      this.#trySettle();
      throw error;
    }
    this.#doubtfulEnd = 0;
    this.#end += bytes.length;
    this.#number++;
    return { bytes, position };
  }

  /** Marks all commits as acknowledged, and closes the file. */
  close(): void {
    try {
      this.#settle();
      this.#mark();
      fdatasyncSync(this.#fd);
    } finally {
      closeSync(this.#fd);
    }
  }

  /** Closes a journal that another one has replaced. */
  abandon(): void {
    closeSync(this.#fd);
  }

  #trySettle(): void {
    try {
      this.#settle();
    } catch {
      // The next commit tries this first.
    }
  }

  /** Removes bytes that a refused commit may have left on the disk. */
  #settle(): void {
    if (this.#doubtfulEnd === 0) return;
    writeZeros(this.#fd, this.#end, this.#doubtfulEnd);
    this.#writeHeads();
    fdatasyncSync(this.#fd);
    this.#doubtfulEnd = 0;
  }

  #writeHeads(): void {
    for (const place of HEAD_PLACES) writeWhole(this.#fd, encodeHead(this.#head), place);
  }

  #mark(): void {
    this.#head = { ...this.#head, marked: this.#end };
    this.#turn = 1 - this.#turn;
    writeWhole(this.#fd, encodeHead(this.#head), HEAD_PLACES[this.#turn] ?? 0);
    this.#markedAt = performance.now();
  }

  /** Makes room for a commit of this length, and for the zeros that end the frames. */
  #makeRoom(length: number, mayUseReserve: () => boolean): void {
    const least = this.#end + length + FRAME_HEAD_LENGTH;
    const wanted = least + this.#reserve;
    if (wanted <= this.#size) return;
    if (this.#grow(wanted + this.#step) === undefined) return;
    const refusal = this.#grow(wanted);
    if (refusal !== undefined && !(least <= this.#size && mayUseReserve())) throw refusal;
  }

  get #step(): number {
    return Math.max(LEAST_STEP, Math.min(MOST_STEP, Math.floor(this.#end / 8)));
  }

  /** Returns the error when the journal cannot grow. */
  #grow(wanted: number): Error | undefined {
    const size = Math.ceil(wanted / 4096) * 4096;
    try {
      writeZeros(this.#fd, this.#size, size);
      fdatasyncSync(this.#fd);
      this.#size = size;
      return undefined;
    } catch (error) {
      ftruncateSync(this.#fd, this.#size);
      if (error instanceof Error) return error;
      throw error;
    }
  }
}

function writeZeros(fd: number, from: number, to: number): void {
  for (let position = from; position < to; position += ZEROS.length) {
    writeWhole(fd, ZEROS.subarray(0, Math.min(ZEROS.length, to - position)), position);
  }
}
