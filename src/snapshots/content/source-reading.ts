/** Reading a file that is to be stored. Runs in a worker thread. */
import { readSync } from 'node:fs';
import { refusals } from '../../base/errors/errors.js';
import { dataRanges, readNext, readOnlyWhatIsAskedFor } from '../../base/disk/linux-files.js';
import { readable } from './source-error.js';
import { chunkEnd, chunkStart, PIECE_LENGTH, sinkPiece, sinkZeros, type ChunkSink } from './chunk-sink.js';

const buffer = Buffer.allocUnsafeSlow(PIECE_LENGTH);

/** Holes are not read. Refuses (409) a file that has become shorter than this size. */
export function readSource(fd: number, path: string, size: number, sink: ChunkSink): void {
  readOnlyWhatIsAskedFor(fd);
  let position = 0;
  for (const range of dataRanges(fd, size)) {
    const start = Math.max(position, chunkStart(range.start));
    sinkZeros(start - position, sink);
    position = start;
    const end = Math.min(chunkEnd(range.end), size);
    while (position < end) {
      const piece = buffer.subarray(0, Math.min(PIECE_LENGTH, end - position));
      readNext(fd, position + piece.length, Math.min(PIECE_LENGTH, end - position - piece.length));
      fill(fd, path, piece, position);
      sinkPiece(piece, sink);
      position += piece.length;
    }
  }
  sinkZeros(size - position, sink);
}

function fill(fd: number, path: string, piece: Uint8Array, position: number): void {
  let done = 0;
  while (done < piece.length) {
    const count = readable(path, () => readSync(fd, piece, done, piece.length - done, position + done));
    if (count === 0) throw refusals.contentChanging(path);
    done += count;
  }
}
