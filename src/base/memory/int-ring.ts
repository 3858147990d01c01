/**
 * A ring of records of three Int32 words, from one writing thread to one reading thread. The writer fills a record
 * plainly, then stores `head`; the reader loads `head`, reads, then stores `tail`.
 */

const HEAD = 0;
const TAIL = 1;
const WORDS_BEFORE = 2;
const RECORD_WORDS = 3;

export interface IntRingPlan {
  readonly buffer: SharedArrayBuffer;
  /** A power of two. */
  readonly records: number;
}

export function newIntRing(records: number): IntRingPlan {
  const words = WORDS_BEFORE + records * RECORD_WORDS;
  return { buffer: new SharedArrayBuffer(words * Int32Array.BYTES_PER_ELEMENT), records };
}

export class IntRing {
  readonly #words: Int32Array;
  readonly #mask: number;

  constructor({ buffer, records }: IntRingPlan) {
    if ((records & (records - 1)) !== 0) throw new RangeError('a ring has a power of two of records');
    this.#words = new Int32Array(buffer);
    this.#mask = records - 1;
  }

  /** Throws when there is no room. */
  push(first: number, second: number, third: number): void {
    const head = this.#words[HEAD] ?? 0;
    if (((head - Atomics.load(this.#words, TAIL)) | 0) > this.#mask) throw new RangeError('a ring is full');
    const at = this.#at(head);
    this.#words[at] = first;
    this.#words[at + 1] = second;
    this.#words[at + 2] = third;
    Atomics.store(this.#words, HEAD, (head + 1) | 0);
  }

  /** Takes the oldest record and passes its words to `use`; false when there is none. */
  pull(use: (first: number, second: number, third: number) => void): boolean {
    const tail = this.#words[TAIL] ?? 0;
    if (Atomics.load(this.#words, HEAD) === tail) return false;
    const at = this.#at(tail);
    const first = this.#words[at] ?? 0;
    const second = this.#words[at + 1] ?? 0;
    const third = this.#words[at + 2] ?? 0;
    Atomics.store(this.#words, TAIL, (tail + 1) | 0);
    use(first, second, third);
    return true;
  }

  #at(position: number): number {
    return WORDS_BEFORE + (position & this.#mask) * RECORD_WORDS;
  }
}
