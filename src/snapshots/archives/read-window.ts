/** Reads a file at given positions. Runs in worker threads. */
import { readSync } from 'node:fs';

const WINDOW = 64 * 1024;

/** These bytes of the file; fewer only where the file ends. */
export function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const read = readSync(fd, bytes, done, length - done, position + done);
    if (read === 0) break;
    done += read;
  }
  return bytes.subarray(0, done);
}

/** Serves many short reads that lie close together by few system calls. */
export class ReadWindow {
  readonly #fd: number;
  readonly #end: number;
  #position = 0;
  #bytes: Buffer = Buffer.alloc(0);

  /** Reads nothing behind `end`. */
  constructor(fd: number, end: number) {
    this.#fd = fd;
    this.#end = end;
  }

  /** These bytes, fewer at the end; they must not be changed. */
  read(position: number, length: number): Buffer {
    const most = Math.min(length, Math.max(0, this.#end - position));
    if (most === 0) return Buffer.alloc(0);
    const isHere = position >= this.#position && position + most <= this.#position + this.#bytes.length;
    if (!isHere) {
      this.#bytes = readAt(this.#fd, position, Math.max(most, Math.min(WINDOW, this.#end - position)));
      this.#position = position;
    }
    const start = position - this.#position;
    return this.#bytes.subarray(start, start + most);
  }
}
