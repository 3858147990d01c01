/** A file system of a test's own that is soon full. */
import { randomUUID } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { scratchFolder, type Teardown } from './scratch.js';

export const NO_MOUNT = 'mounting a tmpfs takes root';

const PIECE = 1024 * 1024;

/** Undefined when this process may not mount one. */
export function smallDisk(t: Teardown, kilobytes: number): string | undefined {
  const folder = scratchFolder(t);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  t.teardown(() => execFileSync('umount', ['--lazy', folder]));
  return folder;
}

/** Takes all the room but `left` bytes, also while a server writes there; returns how to give it back. */
export function fillDisk(disk: string, left = 0): () => void {
  const ballast = join(disk, `ballast-${randomUUID()}`);
  const file = openSync(ballast, 'w');
  try {
    for (let room = roomOf(disk) - left; room > 0; room = roomOf(disk) - left)
      writeSync(file, Buffer.alloc(Math.min(room, PIECE), 1));
  } catch (error) {
    // The server has taken the rest.
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  } finally {
    closeSync(file);
  }
  return () => {
    rmSync(ballast);
  };
}

function roomOf(disk: string): number {
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
}

/** In memory where that can be had, for tests that sync much and do not mean the disk. */
export function quickFolder(t: Teardown): string {
  return smallDisk(t, 256 * 1024) ?? scratchFolder(t);
}
