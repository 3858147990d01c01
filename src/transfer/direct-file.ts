/**
 * Writes to a file that go from the slabs to the disk without a copy in the system's memory: whole pages only. A GiB
 * took a quarter of the time so on a virtual machine, most of which the system had spent on finding memory for it;
 * and other files keep their place there. Runs in a transfer loop.
 */
import koffi from 'koffi';
import { PAGE_LENGTH } from '../memory/transfer-memory.js';
import { fileCalls, setDirect } from '../storage/file-calls.js';
import { writeWhole } from '../storage/published-file.js';
import type { DiskQueue, OnWritten } from '../storage/disk-queue.js';
import { systemCallError } from '../storage/system-call-error.js';

/** What is smaller is written sooner than it is prepared for this. */
const LEAST_SIZE = 1024 * 1024;
const NO_SPACE = [28, 122];

export class DirectFile {
  readonly #fd: number;
  /** Without one, each write is waited for. */
  readonly #queue: DiskQueue | undefined;
  #underWay = 0;
  #isOrdinary = false;

  private constructor(fd: number, queue: DiskQueue | undefined) {
    this.#fd = fd;
    this.#queue = queue;
  }

  /**
   * A new file, which has its whole length from now on: the disk would not write what grows by itself. Undefined when
   * that is not worth while, or cannot be done here.
   */
  static create(fd: number, size: number | undefined, queue: DiskQueue | undefined): DirectFile | undefined {
    if (queue === undefined || (size ?? 0) < LEAST_SIZE || !setDirect(fd, true)) return undefined;
    if (fileCalls?.fallocate(fd, 0, 0, size ?? 0) === 0) return new DirectFile(fd, queue);
    const error = koffi.errno();
    setDirect(fd, false);
    if (NO_SPACE.includes(error)) throw systemCallError(error, 'fallocate');
    return undefined;
  }

  /** A file that grows, and is as long as what has been written to it at every moment. */
  static append(fd: number, size: number): DirectFile | undefined {
    return size >= LEAST_SIZE && setDirect(fd, true) ? new DirectFile(fd, undefined) : undefined;
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
}
