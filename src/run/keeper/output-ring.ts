/**
 * The last 64 KiB of a stream of bytes. Positions count from the first byte of the stream, so that a reader knows how
 * far it has come and what it has missed. The memory grows with the content: most programs print little.
 */
const LARGEST = 64 * 1024;
const SMALLEST = 1024;

export class OutputRing {
  /** A power of two long. The byte at position p is at p modulo the length. */
  #bytes = Buffer.alloc(0);
  #size = 0;
  #end = 0;

  /** The position after the newest byte. */
  get end(): number {
    return this.#end;
  }

  /** The position of the oldest byte that is kept. */
  get start(): number {
    return this.#end - this.#size;
  }

  /** A copy of all that is kept. */
  get content(): Uint8Array {
    return this.read(this.start, this.#size);
  }

  /** Goes on at a later position and forgets the bytes before it. */
  skipTo(position: number): void {
    this.#end = position;
    this.#size = 0;
  }

  push(bytes: Uint8Array): void {
    const newest = bytes.length > LARGEST ? bytes.subarray(bytes.length - LARGEST) : bytes;
    if (newest.length < bytes.length) this.skipTo(this.#end + bytes.length - newest.length);
    this.#makeRoom(Math.min(this.#size + newest.length, LARGEST));
    const at = this.#place(this.#end);
    const first = Math.min(newest.length, this.#bytes.length - at);
    this.#bytes.set(newest.subarray(0, first), at);
    this.#bytes.set(newest.subarray(first), 0);
    this.#end += newest.length;
    this.#size = Math.min(this.#size + newest.length, LARGEST);
  }

  /** A copy of at most so many bytes from the position on, which is not before `start`. */
  read(from: number, most: number): Uint8Array {
    const length = Math.min(this.#end - from, most);
    const copy = new Uint8Array(length);
    if (length === 0) return copy;
    const at = this.#place(from);
    const first = this.#bytes.subarray(at, at + length);
    copy.set(first);
    copy.set(this.#bytes.subarray(0, length - first.length), first.length);
    return copy;
  }

  #place(position: number): number {
    return this.#bytes.length === 0 ? 0 : position % this.#bytes.length;
  }

  #makeRoom(needed: number): void {
    if (needed <= this.#bytes.length) return;
    let length = Math.max(this.#bytes.length, SMALLEST);
    while (length < needed) length *= 2;
    const kept = this.read(this.start, this.#size);
    const start = this.start;
    this.#bytes = Buffer.alloc(length);
    const at = this.#place(start);
    const first = Math.min(kept.length, length - at);
    this.#bytes.set(kept.subarray(0, first), at);
    this.#bytes.set(kept.subarray(first), 0);
  }
}
