/** The buffers of one thread, from which the disk writes files while the thread does something else. Linux only. */
import { PAGE_LENGTH } from '../memory/transfer-memory.js';
import { DiskQueue, type OnWritten } from './disk-queue.js';
import { fromWholePage } from './whole-pages.js';

/** The length of each buffer. */
export const BUFFER_LENGTH = 1024 * 1024;
const BUFFERS = 8;

export interface BulkBuffer {
  readonly bytes: Uint8Array;
  /** The number of its users: the file that fills it, and each write from it that is under way. */
  users: number;
}

export class BulkBuffers {
  readonly #queue: DiskQueue;
  readonly #free: BulkBuffer[];

  private constructor(queue: DiskQueue, memory: ArrayBuffer) {
    this.#queue = queue;
    const bytes = fromWholePage(memory, BUFFERS * BUFFER_LENGTH);
    this.#free = Array.from({ length: BUFFERS }, (_, index) => ({
      bytes: bytes.subarray(index * BUFFER_LENGTH, (index + 1) * BUFFER_LENGTH),
      users: 0,
    }));
  }

  /** Undefined where the system has no asynchronous writes. */
  static open(): BulkBuffers | undefined {
    const memory = new ArrayBuffer(BUFFERS * BUFFER_LENGTH + PAGE_LENGTH);
    const queue = DiskQueue.open(memory);
    return queue === undefined ? undefined : new BulkBuffers(queue, memory);
  }

  /** Takes a free buffer, or waits until one has been written; undefined when files are filling all of them. */
  take(): BulkBuffer | undefined {
    while (this.#free.length === 0 && this.#queue.underWay > 0) this.reap();
    const buffer = this.#free.pop();
    if (buffer !== undefined) buffer.users = 1;
    return buffer;
  }

  giveBack(buffer: BulkBuffer): void {
    if (--buffer.users === 0) this.#free.push(buffer);
  }

  /** Writes whole pages of the buffer, which must not change until a later `take` or `reap` has called `onWritten`. */
  write(fd: number, buffer: BulkBuffer, bytes: Uint8Array, position: number, onWritten: OnWritten): void {
    buffer.users++;
    try {
      this.#queue.write(fd, bytes, position, (error) => {
        onWritten(error);
        this.giveBack(buffer);
      });
    } catch (error) {
      this.giveBack(buffer);
      throw error;
    }
  }

  /** Calls `onWritten` of the writes that are over; waits a short time for at least one. */
  reap(): void {
    this.#queue.reap(true);
  }
}
