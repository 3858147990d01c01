/** Octets that look random, cannot be packed, and are the same in every run. */
import { createCipheriv, createHash, type Cipher } from 'node:crypto';

export class SeededBytes {
  readonly #stream: Cipher;

  constructor(seed: string) {
    const key = createHash('md5').update(seed).digest();
    this.#stream = createCipheriv('aes-128-ctr', key, Buffer.alloc(16));
  }

  take(octets: number): Buffer {
    return this.#stream.update(Buffer.alloc(octets));
  }

  /** A whole number from 0 up to the limit, which is not among them. */
  below(limit: number): number {
    return this.take(4).readUInt32LE() % limit;
  }
}
