/** A file system of a test's own whose files can share blocks. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchFolder, type Teardown } from './scratch.js';

export const NO_REFLINKS = 'it takes root, loop devices, and mkfs.btrfs of the package btrfs-progs';

const OCTETS = 192 * 1024 * 1024;

/** Undefined where there can be none. */
export function reflinkDisk(t: Teardown): string | undefined {
  const scratch = scratchFolder(t);
  const image = join(scratch, 'disk');
  const folder = join(scratch, 'mounted');
  writeFileSync(image, '');
  truncateSync(image, OCTETS);
  mkdirSync(folder);
  try {
    execFileSync('mkfs.btrfs', ['-q', image], { stdio: 'ignore' });
    execFileSync('mount', ['-o', 'loop', image, folder], { stdio: 'ignore' });
  } catch {
    rmSync(image);
    return undefined;
  }
  t.teardown(() => execFileSync('umount', ['--lazy', folder]));
  return folder;
}

/** The extents of the file on its disk: where each begins. Files that share their blocks have the same. */
export function extentsOf(path: string): string[] {
  execFileSync('sync', ['-f', path]);
  const told = execFileSync('filefrag', ['-v', path], { encoding: 'utf8' });
  return [...told.matchAll(/^\s*\d+:\s+\d+\.\.\s*\d+:\s+(\d+)\.\./gm)].map(([, first = '']) => first);
}
