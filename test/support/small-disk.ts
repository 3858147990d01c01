/** A file system of a test's own that is soon full. */
import { randomUUID } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchFolder, type Teardown } from './scratch.js';

export const NO_MOUNT = 'mounting a tmpfs takes root';

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

/** Takes all the room but `left` bytes; returns how to give it back. */
export function fillDisk(disk: string, left: number): () => void {
  const { bavail, bsize } = statfsSync(disk);
  const ballast = join(disk, `ballast-${randomUUID()}`);
  writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - left), 1));
  return () => {
    rmSync(ballast);
  };
}

/** In memory where that can be had, for tests that sync much and do not mean the disk. */
export function quickFolder(t: Teardown): string {
  return smallDisk(t, 256 * 1024) ?? scratchFolder(t);
}
