/**
 * A new file that a worker thread writes from front to back. A large one goes to the disk by itself, past the system's
 * memory, while the thread goes on with what comes next. Small ones are written plainly, and all where that cannot be.
 */
import { closeSync, constants, fchmodSync, fsyncSync, ftruncateSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { PAGE_LENGTH } from '../memory/transfer-memory.js';
import { BUFFER_LENGTH, BulkBuffers, type BulkBuffer } from './bulk-buffers.js';
import { Growth } from './disk-floor.js';
import { setDirect } from './linux-files.js';
import { writeWhole } from './published-file.js';

/** What is smaller is written sooner than it is prepared for this. */
const LEAST_SIZE = 1024 * 1024;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Nobody else looks into what is not finished. */
const UNFINISHED_MODE = 0o600;
const ZEROS = new Uint8Array(PAGE_LENGTH);
/** What a disk that does not take direct writes says to one. A write that fell short has no code at all. */
const TRIED_AGAIN: readonly unknown[] = [undefined, 'EINVAL', 'EAGAIN', 'ENOSYS', 'EOPNOTSUPP'];

/** Of this thread, from its first large file on. */
let ofThread: { readonly buffers: BulkBuffers | undefined } | undefined;

/** Pages on their way into a buffer. */
interface Filling {
  readonly buffer: BulkBuffer;
  /** Where those begin in it that are not under way to the disk yet. */
  from: number;
  /** Where those begin in the file. */
  start: number;
}

export class BulkFile {
  readonly #path: string;
  readonly #growth: Growth;
  readonly #fd: number;
  readonly #mode: number;
  readonly #buffers: BulkBuffers | undefined;
  /** Whether new buffers are filled. */
  #isDirect: boolean;
  #filling: Filling | undefined;
  #position = 0;
  #underWay = 0;
  #failure: Error | undefined;
  #isOpen = true;

  private constructor(path: string, fd: number, mode: number, buffers: BulkBuffers | undefined) {
    this.#path = path;
    this.#growth = new Growth(dirname(path));
    this.#fd = fd;
    this.#mode = mode;
    this.#buffers = buffers;
    this.#isDirect = buffers !== undefined;
  }

  /**
   * Refuses a name that is taken. The size is the most that the file will get; without one (0) it is written plainly.
   * The file has these permissions when it is finished, whatever the process takes from new files.
   */
  static create(path: string, mode: number, size: number): BulkFile {
    const fd = openSync(path, CREATE, UNFINISHED_MODE);
    try {
      const buffers = size < LEAST_SIZE ? undefined : buffersOfThread();
      if (buffers === undefined || !setDirect(fd, true)) return new BulkFile(path, fd, mode, undefined);
      // A write that makes its file longer is waited for. Room is not asked for: nobody knows how much will be holes.
      ftruncateSync(fd, size);
      return new BulkFile(path, fd, mode, buffers);
    } catch (error) {
      closeSync(fd);
      rmSync(path, { force: true });
      throw error;
    }
  }

  /** How long the file is so far. */
  get position(): number {
    return this.#position;
  }

  /**
   * The bytes are the caller's again afterwards. An error may be of an earlier write. After any error, here or in the
   * other calls, the file can only be discarded.
   */
  write(bytes: Uint8Array): void {
    this.#check();
    this.#attempt(() => {
      this.#growth.reach(this.#position, this.#position + bytes.length);
    });
    let rest = bytes;
    while (rest.length > 0) {
      const filling = this.#filling ?? this.#fill();
      if (filling === undefined) {
        this.#writePlainly(rest);
        return;
      }
      const at = filling.from + this.#position - filling.start;
      const length = Math.min(rest.length, BUFFER_LENGTH - at);
      filling.buffer.bytes.set(length === rest.length ? rest : rest.subarray(0, length), at);
      this.#position += length;
      if (at + length === BUFFER_LENGTH) this.#submit(filling);
      rest = rest.subarray(length);
    }
  }

  /** What follows is zeros; the whole pages of it take no room. */
  skip(length: number): void {
    this.#check();
    const end = this.#position + length;
    const toPage = Math.min(length, wholePages(this.#position + PAGE_LENGTH - 1) - this.#position);
    const hole = wholePages(length - toPage);
    this.#writeZeros(toPage);
    if (this.#filling !== undefined && hole > 0) {
      const filling = this.#filling;
      this.#submit(filling);
      filling.start += hole;
    }
    this.#position += hole;
    this.#writeZeros(end - this.#position);
  }

  /**
   * The file is whole, as long as what was written and skipped, and closed. When it is synced, the disk has it; its name
   * is its folder's matter.
   */
  finish(isSynced: boolean): void {
    this.#check();
    this.#attempt(() => {
      if (this.#filling !== undefined) this.#submit(this.#filling);
      this.#settle();
      this.#check();
      // Shorter first: the disk would read the page that is cut.
      ftruncateSync(this.#fd, this.#position);
      this.#writeTail();
      fchmodSync(this.#fd, this.#mode);
      if (isSynced) fsyncSync(this.#fd);
      this.#close();
    });
  }

  /** Nothing is left of the file, finished or not. May be called again. */
  discard(): void {
    try {
      this.#settle();
      if (this.#isOpen) this.#close();
    } finally {
      rmSync(this.#path, { force: true });
    }
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#isOpen) throw new Error(`${this.#path} is closed`);
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
      throw error;
    }
  }

  #writePlainly(bytes: Uint8Array): void {
    this.#attempt(() => {
      writeWhole(this.#fd, bytes, this.#position);
    });
    this.#position += bytes.length;
  }

  /** Less than a page. Where none is being filled, there is nothing to do: the next one begins with zeros. */
  #writeZeros(length: number): void {
    if (this.#filling === undefined) this.#position += length;
    else this.write(ZEROS.subarray(0, length));
  }

  /** Undefined when what comes next is written plainly. */
  #fill(): Filling | undefined {
    if (!this.#isDirect) return undefined;
    const buffer = this.#buffers?.take();
    if (buffer === undefined) {
      this.#becomePlain();
      return undefined;
    }
    const start = wholePages(this.#position);
    buffer.bytes.fill(0, 0, this.#position - start);
    return (this.#filling = { buffer, from: 0, start });
  }

  /** Lets the disk have the whole pages that have come. */
  #submit(filling: Filling): void {
    const { buffer, from, start } = filling;
    const length = wholePages(this.#position - start);
    if (length > 0) {
      const bytes = buffer.bytes.subarray(from, from + length);
      const written = (error?: Error): void => {
        this.#underWay--;
        if (error !== undefined) this.#tryAgain(error, bytes, start);
      };
      this.#underWay++;
      try {
        this.#buffers?.write(this.#fd, buffer, bytes, start, written);
      } catch (error) {
        written(error instanceof Error ? error : new Error(String(error)));
      }
    }
    filling.from += length;
    filling.start += length;
    if (filling.from === BUFFER_LENGTH) this.#release();
  }

  /** Plainly, which also tells why the disk took less than it was given. */
  #tryAgain(error: Error, bytes: Uint8Array, position: number): void {
    try {
      if (!TRIED_AGAIN.includes(codeOf(error))) throw error;
      this.#becomePlain();
      writeWhole(this.#fd, bytes, position);
    } catch (reason) {
      this.#failure ??= reason instanceof Error ? reason : error;
    }
  }

  #becomePlain(): void {
    if (this.#isDirect) setDirect(this.#fd, false);
    this.#isDirect = false;
  }

  /** What is less than a page. */
  #writeTail(): void {
    this.#becomePlain();
    const filling = this.#filling;
    if (filling === undefined) return;
    const { buffer, from, start } = filling;
    writeWhole(this.#fd, buffer.bytes.subarray(from, from + this.#position - start), start);
  }

  /** Waits until nothing is under way. */
  #settle(): void {
    while (this.#underWay > 0) this.#buffers?.reap();
  }

  #release(): void {
    if (this.#filling !== undefined) this.#buffers?.giveBack(this.#filling.buffer);
    this.#filling = undefined;
  }

  #close(): void {
    this.#release();
    this.#isOpen = false;
    closeSync(this.#fd);
  }
}

function buffersOfThread(): BulkBuffers | undefined {
  ofThread ??= { buffers: BulkBuffers.open() };
  return ofThread.buffers;
}

function wholePages(length: number): number {
  return length - (length % PAGE_LENGTH);
}

function codeOf(error: Error): unknown {
  return 'code' in error ? error.code : undefined;
}
