/**
 * Writes whole pages from the slabs to the disk without a copy in the system's page cache (O_DIRECT). On a virtual
 * machine this took a quarter of the time of ordinary writes, most of which the system spends on finding memory, and
 * it does not push other files out of the cache. Runs in a transfer loop.
 */
import koffi from 'koffi';
import { PAGE_LENGTH } from '../../base/memory/transfer-memory.js';
import type { Growth } from '../../base/disk/disk-floor.js';
import { fileCalls, setDirect, systemCallError } from '../../base/disk/linux-files.js';
import { writeWhole } from '../../base/disk/published-file.js';
import type { DiskQueue, OnWritten } from '../../base/disk/disk-queue.js';

/** Smaller files are written faster in the ordinary way. */
const LEAST_SIZE = 1024 * 1024;
/** A new file is made longer ahead of its bytes by as much as it is long, within these bounds. */
const SHORTEST_STEP = LEAST_SIZE;
const LONGEST_STEP = 64 * 1024 * 1024;
const NO_SPACE = [28, 122];

export class DirectFile {
  readonly #fd: number;
  /** Without a queue, each write is waited for. */
  readonly #queue: DiskQueue | undefined;
  readonly #growth: Growth;
  /** The final length of a new file. */
  readonly #size: number;
  /** The present length of a new file, with the room ahead of its bytes. */
  #allocated = 0;
  #underWay = 0;
  #isOrdinary = false;

  private constructor(fd: number, size: number, queue: DiskQueue | undefined, growth: Growth) {
    this.#fd = fd;
    this.#size = size;
    this.#queue = queue;
    this.#growth = growth;
  }

  /**
   * A new file, which is made longer a step ahead of its bytes, because writes that extend a file are not asynchronous.
   * Undefined when the file is too small, or the system or file system does not support it.
   */
  static create(
    fd: number,
    size: number | undefined,
    queue: DiskQueue | undefined,
    growth: Growth,
  ): DirectFile | undefined {
    if (size === undefined || queue === undefined || size < LEAST_SIZE || !setDirect(fd, true))
      return undefined;
    const file = new DirectFile(fd, size, queue, growth);
    let isLonger = false;
    try {
      isLonger = file.#lengthen(SHORTEST_STEP);
    } finally {
      if (!isLonger) setDirect(fd, false);
    }
    return isLonger ? file : undefined;
  }

  /** A file whose length is always the end of the written bytes. Undefined as above. */
  static append(fd: number, size: number, growth: Growth): DirectFile | undefined {
    return size >= LEAST_SIZE && setDirect(fd, true)
      ? new DirectFile(fd, size, undefined, growth)
      : undefined;
  }

  /** Whether these bytes can be written directly. */
  takes(bytes: Uint8Array, position: number): boolean {
    return !this.#isOrdinary && bytes.length % PAGE_LENGTH === 0 && position % PAGE_LENGTH === 0;
  }

  /**
   * Writes bytes from the beginning of a slab, which must stay as they are until `onWritten` is called. Returns false
   * when the bytes are written on return; `onWritten` is not called then.
   */
  write(bytes: Uint8Array, position: number, onWritten: OnWritten): boolean {
    this.#makeRoom(position, position + bytes.length);
    if (this.#queue === undefined) {
      writeWhole(this.#fd, bytes, position);
      return false;
    }
    this.#underWay++;
    try {
      this.#queue.write(this.#fd, bytes, position, (error) => {
        this.#underWay--;
        onWritten(error);
      });
    } catch (error) {
      this.#underWay--;
      throw error;
    }
    return true;
  }

  /** Waits until no write is under way. */
  settle(): void {
    while (this.#underWay > 0) this.#queue?.reap(true);
  }

  /** Switches to ordinary writes. Writes under way go on as they began. */
  becomeOrdinary(): void {
    if (!this.#isOrdinary) setDirect(this.#fd, false);
    this.#isOrdinary = true;
  }

  #makeRoom(from: number, to: number): void {
    if (this.#queue === undefined) this.#growth.reach(from, to);
    else if (to > this.#allocated && !this.#lengthen(to))
      throw new Error('the file system no longer gives this file room ahead of its bytes');
  }

  /** Makes the file at least this long. Returns false when the file system does not support it. */
  #lengthen(least: number): boolean {
    const step = Math.min(LONGEST_STEP, Math.max(SHORTEST_STEP, this.#allocated));
    const end = Math.max(least, Math.min(this.#size, this.#allocated + step));
    this.#growth.reach(this.#allocated, end);
    if (fileCalls?.fallocate(this.#fd, 0, this.#allocated, end - this.#allocated) !== 0) {
      const error = koffi.errno();
      if (NO_SPACE.includes(error)) throw systemCallError(error, 'fallocate');
      return false;
    }
    this.#allocated = end;
    return true;
  }
}
