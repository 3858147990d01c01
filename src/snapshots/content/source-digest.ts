/** The content digest of a file that is not stored. Runs in a worker thread. */
import { closeSync } from 'node:fs';
import { openRegularFile } from '../../base/disk/regular-file.js';
import { chunkDigest, ContentDigest } from './content-digest.js';
import type { JobProgress } from './job-progress.js';
import { readable } from './source-error.js';
import { readSource } from './source-reading.js';

/** Of as many bytes as the file at this absolute path has now. `name` is what a client calls it. */
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
