/** A file that is read from front to back, in chunks. Runs in a worker thread. */
import { CHUNK_LENGTH, isZeros } from './content-digest.js';

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
