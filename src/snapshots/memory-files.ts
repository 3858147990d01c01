/** The saved memory of nodes, beside the manifests of their snapshots. Runs in worker threads. */
import { createHash } from 'node:crypto';
import { closeSync, fdatasyncSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, renameSynced, syncFolder } from '../base/disk/published-file.js';
import { openRegularFile } from '../base/disk/regular-file.js';
import { messageOf } from '../base/errors/errors.js';
import type { RanNode } from '../lab/lab-run.js';
import { SNAPSHOTS } from '../lab/projects/folder-layout.js';
import type { JobProgress } from './content/job-progress.js';
import { manifestIds } from './content/manifest.js';
import { keptMemory, MEMORY, newMemoryFolder } from './memory-place.js';

const PIECE = 1024 * 1024;

/** Moves what was saved in the work folder to its place; the disk has it afterwards. */
export function placeMemories(root: string, workFolder: string, snapshotId: string): void {
  const made = newMemoryFolder(workFolder);
  for (const name of readdirSync(made)) syncFile(join(made, name));
  syncFolder(made);
  const all = join(root, SNAPSHOTS, MEMORY);
  makeFolder(all);
  renameSynced(made, join(all, snapshotId));
}

/** Removes memory whose snapshot has no manifest. */
export function collectMemories(folder: string): void {
  const all = join(folder, MEMORY);
  const known = new Set(manifestIds(folder));
  for (const id of namesIn(all)) {
    if (!known.has(id)) rmSync(join(all, id), { recursive: true, force: true });
  }
}

/** In bytes. */
export function memorySize(folder: string, snapshotId: string): number {
  const own = join(folder, MEMORY, snapshotId);
  return namesIn(own).reduce((sum, name) => sum + statSync(join(own, name)).size, 0);
}

/** Why the memory of the node is not what was saved; undefined when it is. */
export function memoryFault(
  root: string,
  snapshotId: string,
  { node_id: id, memory }: RanNode,
  progress: JobProgress,
): string | undefined {
  if (memory === undefined) return undefined;
  progress.expect(memory.size);
  try {
    const { path, digest } = keptMemory(root, snapshotId, id, memory);
    return digestOf(path, progress) === digest ? undefined : 'it is not what was saved';
  } catch (error) {
    return messageOf(error);
  }
}

function digestOf(path: string, progress: JobProgress): string {
  const { fd, size } = openRegularFile(path);
  try {
    const hash = createHash('sha256');
    const piece = Buffer.allocUnsafe(PIECE);
    for (let at = 0; at < size;) {
      const count = readSync(fd, piece, 0, piece.length, at);
      if (count === 0) break;
      hash.update(piece.subarray(0, count));
      at += count;
      progress.advance(count);
    }
    return hash.digest('hex');
  } finally {
    closeSync(fd);
  }
}

function syncFile(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
