/**
 * Chunks, and the content digest of a file: SHA-256 over the SHA-256 digests of all its chunks of 64 KiB in order, in
 * hexadecimal digits. The last chunk may be shorter. Looking for stored chunks yields this digest on the way, without
 * a second read, and zeros need not be read at all.
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

/** How much is read at once: whole chunks. */
export const PIECE_LENGTH = 16 * CHUNK_LENGTH;

export interface ChunkSink {
  /** Not zeros; of the whole length unless the file ends. The bytes are valid within the call. */
  data(chunk: Uint8Array): void;
  /** Whole chunks unless the file ends. */
  zeros(length: number): void;
  /** Now and then: so many bytes of the file have passed since the last time. */
  passed(length: number): void;
}

/** The piece begins where a chunk does. */
export function sinkPiece(piece: Uint8Array, sink: ChunkSink): void {
  for (let at = 0; at < piece.length; at += CHUNK_LENGTH) {
    const chunk = piece.subarray(at, at + CHUNK_LENGTH);
    if (isZeros(chunk)) sink.zeros(chunk.length);
    else sink.data(chunk);
  }
  sink.passed(piece.length);
}

export function sinkZeros(length: number, sink: ChunkSink): void {
  if (length === 0) return;
  sink.zeros(length);
  sink.passed(length);
}

export function chunkStart(position: number): number {
  return position - (position % CHUNK_LENGTH);
}

export function chunkEnd(position: number): number {
  return chunkStart(position + CHUNK_LENGTH - 1);
}
