/** The files in a folder that other programs may have filled, and their digests. Runs in a worker thread. */
import { createHash } from 'node:crypto';
import { closeSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { refusals } from '../errors/errors.js';
import type { TaskTable } from '../threads/task.js';
import { containedPath } from './containment.js';
import { openRegularFile } from './regular-file.js';

export interface DigestTasks extends TaskTable {
  /** The paths of regular files below the root. Links are not followed; unreadable folders are passed over. */
  readonly findFiles: (input: { root: string; limit: number }) => string[];
  /** Undefined when the file cannot be read, or when word 0 of `cancelled` is not 0 any more. */
  readonly md5OfFile: (input: {
    root: string;
    path: string;
    cancelled: Int32Array<SharedArrayBuffer>;
  }) => string | undefined;
}

const PIECE = 1024 * 1024;

export const digestTasks: DigestTasks = {
  findFiles({ root, limit }) {
    const found: string[] = [];
    const folders = [''];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for (const entry of entriesOf(join(root, folder))) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (entry.isDirectory()) folders.push(path);
        else if (entry.isFile()) found.push(path);
      }
      if (found.length + folders.length > limit) throw refusals.tooMany('files in this folder', limit);
    }
    return found;
  },

  md5OfFile({ root, path, cancelled }) {
    try {
      const { fd } = openRegularFile(containedPath(root, path));
      try {
        return digestOf(fd, cancelled);
      } finally {
        closeSync(fd);
      }
    } catch {
      return undefined;
    }
  },
};

function digestOf(fd: number, cancelled: Int32Array<SharedArrayBuffer>): string | undefined {
  const hash = createHash('md5');
  const piece = new Uint8Array(PIECE);
  for (;;) {
    if (Atomics.load(cancelled, 0) !== 0) return undefined;
    const length = readSync(fd, piece, 0, PIECE, null);
    if (length === 0) return hash.digest('hex');
    hash.update(piece.subarray(0, length));
  }
}

function entriesOf(folder: string): ReturnType<typeof readEntries> {
  try {
    return readEntries(folder);
  } catch {
    return [];
  }
}

function readEntries(folder: string): { name: string; isDirectory(): boolean; isFile(): boolean }[] {
  return readdirSync(folder, { withFileTypes: true });
}
