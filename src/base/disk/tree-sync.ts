/** Syncs a folder and all that it contains. Runs in a worker thread. */
import { closeSync, constants, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { syncFolder } from './published-file.js';

/** For more files the whole file system is synced at once, because each file by itself takes milliseconds. */
const MOST_SINGLE = 64;

type SyncFileSystem = (fd: number) => number;

const syncFileSystem =
  process.platform === 'linux' ? (koffi.load(null).func('int syncfs(int)') as SyncFileSystem) : undefined;

/** Syncs the root, and these folders and files in it; their paths are relative to the root. */
export function syncTree(root: string, folders: readonly string[], files: readonly string[]): void {
  if (folders.length + files.length > MOST_SINGLE && syncAll(root)) return;
  for (const path of files) syncFile(join(root, path));
  for (const path of folders) syncFolder(join(root, path));
  syncFolder(root);
}

/** False where the system cannot do that, or when it failed; then the sync of some file says why. */
function syncAll(root: string): boolean {
  if (syncFileSystem === undefined) return false;
  const fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return syncFileSystem(fd) === 0;
  } finally {
    closeSync(fd);
  }
}

function syncFile(path: string): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
