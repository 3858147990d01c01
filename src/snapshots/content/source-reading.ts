/** Reads files of a project that are not stored yet. Runs in a worker thread. */
import { closeSync, readSync } from 'node:fs';
import { refusals, systemCode } from '../../base/errors/errors.js';
import { dataRanges, readNext, readOnlyWhatIsAskedFor } from '../../base/disk/linux-files.js';
import {
  chunkDigest,
  chunkEnd,
  chunkStart,
  ContentDigest,
  PIECE_LENGTH,
  sinkPiece,
  sinkZeros,
  type ChunkSink,
} from './content-digest.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import type { JobProgress } from './job-progress.js';

/** These errors concern the server, not the file. */
const NOT_OF_FILE = ['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM'];

/** Refuses (409) with the path when the file cannot be read. */
export function readable<Result>(path: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    const code = codeOf(error);
    if (code === '' || NOT_OF_FILE.includes(code)) throw error;
    throw refusals.contentUnreadable(path, code);
  }
}

/** The code of a system error; empty for other errors. */
export function codeOf(error: unknown): string {
  return systemCode(error) ?? '';
}

const buffer = Buffer.allocUnsafeSlow(PIECE_LENGTH);

/** Feeds `size` bytes to the sink, without reading holes. Refuses (409) a file that has become shorter. */
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

/** The content digest of the file at this absolute path. `name` is its path for clients. */
export function sourceDigest(source: string, name: string, progress: JobProgress): string {
  const { fd, size } = readable(name, () => openRegularFile(source));
  const digest = new ContentDigest();
  try {
    readSource(fd, name, size, {
      data: (chunk) => {
        digest.add(chunkDigest(chunk));
      },
      zeros: (length) => {
        digest.addZeros(length);
      },
      passed: (length) => {
        progress.advance(length);
      },
    });
  } finally {
    closeSync(fd);
  }
  return digest.hex();
}
