/**
 * Writes to a file that go from the slabs to the disk without a copy in the system's memory: whole pages only. A GiB
 * took a quarter of the time so on a virtual machine, most of which the system had spent on finding memory for it;
 * and other files keep their place there. Runs in a transfer loop.
 */
import koffi from 'koffi';
import { PAGE_LENGTH } from '../../base/memory/transfer-memory.js';
import type { Growth } from '../../base/disk/disk-floor.js';
import { fileCalls, setDirect, systemCallError } from '../../base/disk/linux-files.js';
import { writeWhole } from '../../base/disk/published-file.js';
import type { DiskQueue, OnWritten } from '../../base/disk/disk-queue.js';

/** What is smaller is written sooner than it is prepared for this. */
const LEAST_SIZE = 1024 * 1024;
/** The room that a new file has ahead of its bytes: as much as has come, within these bounds. */
const SHORTEST_STEP = LEAST_SIZE;
const LONGEST_STEP = 64 * 1024 * 1024;
const NO_SPACE = [28, 122];

export class DirectFile {
  readonly #fd: number;
  /** Without one, each write is waited for. */
  readonly #queue: DiskQueue | undefined;
  readonly #growth: Growth;
  /** Of a new file, how long it will be. */
  readonly #size: number;
  /** Of a new file, how long it is, with the room ahead of its bytes. */
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
   * A new file, which is made longer a step ahead of its bytes: the disk would not write by itself what makes a file
   * longer. Undefined when that is not worth while, or cannot be done here.
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

  /** A file that grows, and is as long as what has been written to it at every moment. */
  static append(fd: number, size: number, growth: Growth): DirectFile | undefined {
    return size >= LEAST_SIZE && setDirect(fd, true)
      ? new DirectFile(fd, size, undefined, growth)
      : undefined;
  }

  /** Whether these bytes can be written so. */
  takes(bytes: Uint8Array, position: number): boolean {
    return !this.#isOrdinary && bytes.length % PAGE_LENGTH === 0 && position % PAGE_LENGTH === 0;
  }

  /**
   * The bytes are of a slab, from its beginning on, and stay as they are until they are written. False when they are
   * already: nobody is told of that.
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

  /** Waits until nothing is under way. */
  settle(): void {
    while (this.#underWay > 0) this.#queue?.reap(true);
  }

  /** From now on the file takes whatever others do. What is under way goes on as it began. */
  becomeOrdinary(): void {
    if (!this.#isOrdinary) setDirect(this.#fd, false);
    this.#isOrdinary = true;
  }

  #makeRoom(from: number, to: number): void {
    if (this.#queue === undefined) this.#growth.reach(from, to);
    else if (to > this.#allocated && !this.#lengthen(to))
      throw new Error('the file system no longer gives this file room ahead of its bytes');
  }

  /** At least to this place. False when the file system has no such thing. */
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
