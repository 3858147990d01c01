/** A thread that makes pieces of archives. */
import { parentPort } from 'node:worker_threads';
import type { ZipCursor } from '../../src/snapshots/archives/zip-cursor.js';
import { nextPiece } from '../../src/snapshots/archives/zip-pieces.js';

parentPort?.on('message', (cursor: ZipCursor) => {
  const piece = nextPiece(cursor);
  parentPort?.postMessage(piece);
});
