/**
 * The content digest of a file: SHA-256 over the SHA-256 digests of all its chunks of 64 KiB in order, the last of
 * which may be shorter; in hexadecimal digits. So whoever has looked for chunks that are stored already has it without
 * reading anything twice, and zeros need not be read at all.
 */
import { createHash, hash } from 'node:crypto';

/** As long as a cluster of a qcow2 image, which is what changes in the large files of a project. */
export const CHUNK_LENGTH = 64 * 1024;
export const DIGEST_LENGTH = 32;

const ZEROS = Buffer.alloc(CHUNK_LENGTH);
const DIGEST_OF_ZEROS = chunkDigest(ZEROS);
/** Digests that are handed over at once. */
const AT_ONCE = 512;
const MANY_DIGESTS_OF_ZEROS = Buffer.concat(Array.from({ length: AT_ONCE }, () => DIGEST_OF_ZEROS));

/** Of at most 64 KiB. */
export function chunkDigest(chunk: Uint8Array): Buffer {
  return hash('sha256', chunk, 'buffer');
}

export function isZeros(chunk: Uint8Array): boolean {
  return ZEROS.compare(chunk, 0, chunk.length, 0, chunk.length) === 0;
}

export class ContentDigest {
  readonly #hash = createHash('sha256');

  /** Of the next chunk. */
  add(digest: Uint8Array): void {
    this.#hash.update(digest);
  }

  /** So many zeros: whole chunks, unless the file ends with them. */
  addZeros(length: number): void {
    let chunks = Math.floor(length / CHUNK_LENGTH);
    for (; chunks > 0; chunks -= Math.min(chunks, AT_ONCE)) {
      this.#hash.update(MANY_DIGESTS_OF_ZEROS.subarray(0, Math.min(chunks, AT_ONCE) * DIGEST_LENGTH));
    }
    const rest = length % CHUNK_LENGTH;
    if (rest > 0) this.#hash.update(chunkDigest(ZEROS.subarray(0, rest)));
  }

  /** Ends it. */
  hex(): string {
    return this.#hash.digest('hex');
  }
}
