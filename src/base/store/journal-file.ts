/**
 * A journal that is written. The room for what comes next is filled with zeros and synced ahead, so that a commit
 * overwrites what the disk has already, and neither finds it full nor has to sync more than its own octets.
 *
 * After a sync that failed, nobody knows what of it is on the disk, and syncing again would prove nothing, because the
 * system may have dropped the octets. So they are written anew, as zeros, and synced, before anything else is written.
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
/** Room that is kept for commits which make the store smaller, so that a full disk can be cleared up. */
const RESERVE = 2 * MEBIBYTE;
const LEAST_RESERVE = 64 * 1024;
/** Room that is made at a time: an eighth of the journal within these limits. */
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
  /** Up to here the disk may hold octets of a commit that was refused. */
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

  /** A new one that holds the changes as its base, a frame for each group, and is on the disk afterwards. */
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
        const octets = encodeFrame(salt, base, changes);
        writeWhole(fd, octets, end);
        onFrame({ octets, position: end });
        end += octets.length;
      }
      const journal = new JournalFile(fd, path, { salt, base, baseEnd: end, marked: end }, end, base, end);
      // Before the room is made, which may be tried twice: a sync that fails then has nothing but zeros to lose.
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

  /** One that has been read, without damage; what follows its end is cut off. */
  static resume(path: string, fd: number, head: JournalHead, found: JournalFinding): JournalFile {
    const size = new JournalWindow(fd, 0).size;
    const marked = { ...head, marked: found.end };
    const journal = new JournalFile(fd, path, marked, found.end, found.number, size);
    // Not written when nothing is wrong: a server must start on a full disk, and on one that is read only for now.
    if (found.isTorn) {
      journal.#doubtfulEnd = size;
      journal.#settle();
    }
    return journal;
  }

  /** Where the next commit will be. */
  get end(): number {
    return this.#end;
  }

  /** Of the last commit. */
  get number(): number {
    return this.#number;
  }

  /** What is filled with zeros behind a journal of this length. */
  get roomAhead(): number {
    return FRAMES_START + this.#reserve + this.#step;
  }

  /** A look at what has been written up to now. */
  window(ahead: number): JournalWindow {
    return new JournalWindow(this.#fd, ahead);
  }

  /** Afterwards the commit is on the disk. When it throws, the journal is as it was. */
  append(changes: readonly RawChange[], mayUseReserve: () => boolean): FoundFrame {
    const octets = encodeFrame(this.#head.salt, this.#number + 1, changes);
    this.#settle();
    this.#makeRoom(octets.length, mayUseReserve);
    const position = this.#end;
    try {
      this.#doubtfulEnd = position + octets.length;
      if (performance.now() - this.#markedAt > MARK_EVERY_MS) this.#mark();
      writeWhole(this.#fd, octets, position);
      fdatasyncSync(this.#fd);
    } catch (error) {
      this.#trySettle();
      throw error;
    }
    this.#doubtfulEnd = 0;
    this.#end += octets.length;
    this.#number++;
    return { octets, position };
  }

  /** Says on the disk that all is acknowledged, and lets go. */
  close(): void {
    try {
      this.#settle();
      this.#mark();
      fdatasyncSync(this.#fd);
    } finally {
      closeSync(this.#fd);
    }
  }

  /** Lets go of a journal that another has replaced. */
  abandon(): void {
    closeSync(this.#fd);
  }

  #trySettle(): void {
    try {
      this.#settle();
    } catch {
      // The next commit begins with it.
    }
  }

  /** Takes what a refused commit may have left off the disk. */
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

  /** Room for a commit of this length, and for the end of the frames after it. */
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

  /** Returns why it cannot be. */
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
