/**
 * Chunks, and the content digest of a file: SHA-256 over the SHA-256 digests of all its chunks of 64 KiB in order, in
 * hexadecimal digits. The last chunk may be shorter. Looking for stored chunks yields this digest on the way, without
 * a second read, and zeros need not be read at all.
 */
import { createHash, hash } from 'node:crypto';

/** The length of a qcow2 cluster: the large files of a project change by clusters. */
export const CHUNK_LENGTH = 64 * 1024;
export const DIGEST_LENGTH = 32;

const ZEROS = Buffer.alloc(CHUNK_LENGTH);
const DIGEST_OF_ZEROS = chunkDigest(ZEROS);
/** The most digests that are hashed at once. */
const AT_ONCE = 512;
const MANY_DIGESTS_OF_ZEROS = Buffer.concat(Array.from({ length: AT_ONCE }, () => DIGEST_OF_ZEROS));

/** A chunk has at most 64 KiB. */
export function chunkDigest(chunk: Uint8Array): Buffer {
  return hash('sha256', chunk, 'buffer');
}

export function isZeros(chunk: Uint8Array): boolean {
  return ZEROS.compare(chunk, 0, chunk.length, 0, chunk.length) === 0;
}

export class ContentDigest {
  readonly #hash = createHash('sha256');

  /** Adds the digest of the next chunk. */
  add(digest: Uint8Array): void {
    this.#hash.update(digest);
  }

  /** Adds zeros: whole chunks, unless the file ends with them. */
  addZeros(length: number): void {
    let chunks = Math.floor(length / CHUNK_LENGTH);
    for (; chunks > 0; chunks -= Math.min(chunks, AT_ONCE)) {
      this.#hash.update(MANY_DIGESTS_OF_ZEROS.subarray(0, Math.min(chunks, AT_ONCE) * DIGEST_LENGTH));
    }
    const rest = length % CHUNK_LENGTH;
    if (rest > 0) this.#hash.update(chunkDigest(ZEROS.subarray(0, rest)));
  }

  /** Ends the digest. */
  hex(): string {
    return this.#hash.digest('hex');
  }
}

/** Files are read in pieces of this length: whole chunks. */
export const PIECE_LENGTH = 16 * CHUNK_LENGTH;

/** Takes a file from front to back, in chunks. */
export interface ChunkSink {
  /** Takes a chunk that is not all zeros; only the last one may be short. The bytes are valid within the call. */
  data(chunk: Uint8Array): void;
  /** Takes zeros: whole chunks, unless the file ends with them. */
  zeros(length: number): void;
  /** Called now and then with the number of bytes since the last call. */
  passed(length: number): void;
}

/** The piece must begin at a chunk. */
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
