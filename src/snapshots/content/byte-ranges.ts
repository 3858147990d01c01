/** Sets of byte ranges. Pure. */

export interface ObjectRange {
  readonly start: number;
  /** The position after its last byte. */
  readonly end: number;
}

export class ByteRanges {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** The union of the ranges. */
  constructor(ranges: Iterable<ObjectRange>) {
    for (const { start, end } of [...ranges].sort((a, b) => a.start - b.start)) {
      const last = this.#ends.length - 1;
      const lastEnd = this.#ends[last];
      if (lastEnd === undefined || start > lastEnd) {
        this.#starts.push(start);
        this.#ends.push(end);
      } else if (end > lastEnd) {
        this.#ends[last] = end;
      }
    }
  }

  *[Symbol.iterator](): Generator<ObjectRange, void, undefined> {
    for (const [index, start] of this.#starts.entries()) yield { start, end: this.#ends[index] ?? start };
  }

  get end(): number {
    return this.#ends.at(-1) ?? 0;
  }

  get length(): number {
    let sum = 0;
    for (const { start, end } of this) sum += end - start;
    return sum;
  }

  covers(start: number, end: number): boolean {
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ends[middle] ?? 0) >= end) high = middle;
      else low = middle + 1;
    }
    return (this.#starts[low] ?? Infinity) <= start;
  }

  /** The ranges below this end that are not in the set. */
  *gaps(end: number): Generator<ObjectRange, void, undefined> {
    let position = 0;
    for (const range of this) {
      if (range.start >= end) break;
      if (range.start > position) yield { start: position, end: range.start };
      position = range.end;
    }
    if (position < end) yield { start: position, end };
  }
}
