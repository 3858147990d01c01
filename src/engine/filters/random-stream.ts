/** Reproducible pseudo-random numbers (mulberry32), determined by a seed and a purpose. */
export class RandomStream {
  #state: number;

  /** Streams with the same seed and different purposes are unrelated. */
  constructor(seed: number, purpose: number) {
    this.#state = mixed(Math.imul(seed | 0, 0x9e3779b1) ^ mixed(purpose + 1));
  }

  /** From 0 to below 1. */
  next(): number {
    const state = (this.#state + 0x6d2b79f5) | 0;
    this.#state = state;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** True with this probability: never with 0, always with 100. */
  chance(percent: number): boolean {
    return this.next() * 100 < percent;
  }
}

/** The finalizer of MurmurHash3: neighbouring inputs have unrelated results. */
function mixed(word: number): number {
  let value = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return value ^ (value >>> 16);
}
