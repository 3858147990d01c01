/**
 * A new file that a worker thread writes from front to back. The disk writes a large file directly from buffers, past
 * the system's memory, while the thread goes on. Small files are written with plain calls, and so are all files where
 * direct writes are not possible.
 */
import { closeSync, constants, fchmodSync, fsyncSync, ftruncateSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { PAGE_LENGTH } from '../memory/transfer-memory.js';
import { BUFFER_LENGTH, BulkBuffers, type BulkBuffer } from './bulk-buffers.js';
import { Growth } from './disk-floor.js';
import { setDirect } from './linux-files.js';
import { writeWhole } from './published-file.js';

/** Smaller files are written faster with plain calls. */
const LEAST_SIZE = 1024 * 1024;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** No other user can read an unfinished file. */
const UNFINISHED_MODE = 0o600;
const ZEROS = new Uint8Array(PAGE_LENGTH);
/** The errors of a disk that does not take direct writes. The error of a write that fell short has no code. */
const TRIED_AGAIN: readonly unknown[] = [undefined, 'EINVAL', 'EAGAIN', 'ENOSYS', 'EOPNOTSUPP'];

/** The buffers of this thread, from its first large file on. */
let ofThread: { readonly buffers: BulkBuffers | undefined } | undefined;

/** Pages on their way into a buffer. */
interface Filling {
  readonly buffer: BulkBuffer;
  /** The position in the buffer from which on nothing has been submitted yet. */
  from: number;
  /** The position in the file of that. */
  start: number;
}

export class BulkFile {
  readonly #path: string;
  readonly #growth: Growth;
  readonly #fd: number;
  readonly #mode: number;
  readonly #buffers: BulkBuffers | undefined;
  /** Whether the file still takes direct writes. */
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
   * Throws when the name is taken. The file will get at most this size; with 0 it is written with plain calls. The
   * finished file has this mode, whatever the umask of the process.
   */
  static create(path: string, mode: number, size: number): BulkFile {
    const fd = openSync(path, CREATE, UNFINISHED_MODE);
    try {
      const buffers = size < LEAST_SIZE ? undefined : buffersOfThread();
      if (buffers === undefined || !setDirect(fd, true)) return new BulkFile(path, fd, mode, undefined);
      // A write that makes its file longer would block. No room is allocated, because parts may become holes.
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
   * Copies or writes the bytes, so the caller may use them again. The error may come from an earlier write. After an
   * error of any method, the file can only be discarded.
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

  /** Adds zeros; the whole pages among them take no room on the disk. */
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
   * Ends the file after all that was written and skipped, and closes it. When it is to be synced, its content is on the
   * disk afterwards; its name is not, before its folder has been synced.
   */
  finish(isSynced: boolean): void {
    this.#check();
    this.#attempt(() => {
      if (this.#filling !== undefined) this.#submit(this.#filling);
      this.#settle();
      this.#check();
      // The file is cut first; otherwise the disk would have to read the page that is cut.
      ftruncateSync(this.#fd, this.#position);
      this.#writeTail();
      fchmodSync(this.#fd, this.#mode);
      if (isSynced) fsyncSync(this.#fd);
      this.#close();
    });
  }

  /** Removes the file, finished or not. May be called again. */
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

  /** Adds less than a page of zeros. When no buffer is being filled, the next one begins with them. */
  #writeZeros(length: number): void {
    if (this.#filling === undefined) this.#position += length;
    else this.write(ZEROS.subarray(0, length));
  }

  /** Begins a new buffer; undefined when the file goes on with plain calls. */
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

  /** Submits the whole pages of the buffer to the disk. */
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

  /** Writes again with plain calls, which also say why the disk took less than it was given. */
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

  /** Writes the rest, which is less than a page. */
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
