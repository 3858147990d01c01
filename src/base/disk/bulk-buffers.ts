/**
 * The memory of one thread from which its files go to the disk by themselves, while the thread does something else. Only
 * Linux can.
 */
import { PAGE_LENGTH } from '../memory/transfer-memory.js';
import { DiskQueue, type OnWritten } from './disk-queue.js';
import { fromWholePage } from './whole-pages.js';

/** Of each buffer. */
export const BUFFER_LENGTH = 1024 * 1024;
const BUFFERS = 8;

export interface BulkBuffer {
  readonly bytes: Uint8Array;
  /** How many need it: the file that fills it, and the writes that are under way from it. */
  users: number;
}

export class BulkBuffers {
  readonly #queue: DiskQueue;
  readonly #free: BulkBuffer[];

  private constructor(queue: DiskQueue, memory: ArrayBuffer) {
    this.#queue = queue;
    const octets = fromWholePage(memory, BUFFERS * BUFFER_LENGTH);
    this.#free = Array.from({ length: BUFFERS }, (_, index) => ({
      bytes: octets.subarray(index * BUFFER_LENGTH, (index + 1) * BUFFER_LENGTH),
      users: 0,
    }));
  }

  /** Undefined where there is no such thing. */
  static open(): BulkBuffers | undefined {
    const memory = new ArrayBuffer(BUFFERS * BUFFER_LENGTH + PAGE_LENGTH);
    const queue = DiskQueue.open(memory);
    return queue === undefined ? undefined : new BulkBuffers(queue, memory);
  }

  /** Waits for one that is being written; undefined when all are being filled. */
  take(): BulkBuffer | undefined {
    while (this.#free.length === 0 && this.#queue.underWay > 0) this.reap();
    const buffer = this.#free.pop();
    if (buffer !== undefined) buffer.users = 1;
    return buffer;
  }

  giveBack(buffer: BulkBuffer): void {
    if (--buffer.users === 0) this.#free.push(buffer);
  }

  /** Whole pages of the buffer, which stay as they are until `onWritten` has been called, in a later `take` or `reap`. */
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

  /** Tells of writes that are over, of at least one if that does not take long. */
  reap(): void {
    this.#queue.reap(true);
  }
}
