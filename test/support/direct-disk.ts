/** Which file systems write from memory to the disk without a copy, and one that does not. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { newSlabs } from '../../src/base/memory/transfer-memory.js';
import { DiskQueue } from '../../src/base/disk/disk-queue.js';
import { scratchFolder, type Teardown } from './scratch.js';

export const NO_DIRECT = 'it takes Linux, and a file system that writes without a copy';
export const NO_RAMFS = 'mounting a ramfs takes root';

export function hasDirectWrites(folder: string): boolean {
  const path = join(folder, 'direct');
  if (DiskQueue.open(newSlabs()) === undefined) return false;
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_DIRECT));
    return true;
  } catch {
    return false;
  } finally {
    rmSync(path, { force: true });
  }
}

/** A file system without such writes; undefined when this process may not mount one. */
export function plainDisk(t: Teardown): string | undefined {
  const folder = scratchFolder(t);
  try {
    execFileSync('mount', ['-t', 'ramfs', 'ramfs', folder], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  t.teardown(() => execFileSync('umount', ['--lazy', folder]));
  return folder;
}
