/** Random choices that are the same in every run with the same seed. */
import { createCipheriv, type Cipher } from 'node:crypto';
import { seededRandom } from './seeded-random.js';

export class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seededRandom(seed);
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    if (items.length === 0) throw new RangeError('there is nothing to pick from');
    return items[this.below(items.length)] as Item;
  }

  uuid(): string {
    const digits = Array.from({ length: 32 }, () => this.below(16).toString(16)).join('');
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }
}

/** The seed of this run: the variable WIREFARM_TEST_SEED, or the usual one. */
export function testSeed(usual: number): number {
  const wanted = Number(process.env['WIREFARM_TEST_SEED']);
  return Number.isInteger(wanted) && wanted > 0 ? wanted : usual;
}

/** A stream of bytes that nothing compresses, fast enough for hundreds of megabytes. */
export class RandomBytes {
  readonly #cipher: Cipher;

  constructor(seed: number) {
    const key = Buffer.alloc(16);
    key.writeUInt32LE(seed >>> 0);
    this.#cipher = createCipheriv('aes-128-ctr', key, Buffer.alloc(16));
  }

  next(length: number): Buffer<ArrayBuffer> {
    return Buffer.from(this.#cipher.update(Buffer.alloc(length)));
  }
}
