/** The bytes of one piece of an archive, one behind the other, in memory that can be given away. */
const SMALLEST = 1024;

export class PieceRoom {
  readonly #usual: number;
  readonly #mostRead: number;
  #memory: Uint8Array<ArrayBuffer>;
  #length = 0;
  #read = 0;

  /** `usual`: how long a piece is, about. It may be shorter when it was made of `mostRead` bytes or more. */
  constructor(usual: number, mostRead: number) {
    this.#usual = usual;
    this.#mostRead = mostRead;
    this.#memory = new Uint8Array(usual + SMALLEST);
  }

  get isEnough(): boolean {
    return this.#length >= this.#usual || (this.#read >= this.#mostRead && this.#length > 0);
  }

  get length(): number {
    return this.#length;
  }

  /** What was added, in memory of its own that is not much larger. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#length * 2 < this.#memory.length
      ? this.#memory.slice(0, this.#length)
      : this.#memory.subarray(0, this.#length);
  }

  /** So many bytes were read for this piece. */
  count(read: number): void {
    this.#read += read;
  }

  add(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#memory.length) this.#grow(this.#length + bytes.length);
    this.#memory.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #grow(least: number): void {
    const memory = new Uint8Array(Math.max(least + SMALLEST, this.#memory.length * 2));
    memory.set(this.#memory.subarray(0, this.#length));
    this.#memory = memory;
  }
}
