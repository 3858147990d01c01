/**
 * Holds a folder for this process alone, with flock(2) on a file in it: the kernel gives the lock back when
 * the process dies, however it dies.
 */
import { constants, openSync, closeSync, ftruncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';

const LOCK_EXCLUSIVE = 2;
const LOCK_WITHOUT_WAITING = 4;

/** Throws when another process holds the folder. The lock lasts as long as the process. */
export function lockFolder(folder: string): void {
  const flock = koffi.load(null).func('int flock(int fd, int operation)') as (
    fd: number,
    operation: number,
  ) => number;
  const fd = openSync(join(folder, 'lock'), constants.O_RDWR | constants.O_CREAT, 0o644);
  if (flock(fd, LOCK_EXCLUSIVE | LOCK_WITHOUT_WAITING) !== 0) {
    closeSync(fd);
    throw new Error(`the folder ${folder} is held by another running server`);
  }
  ftruncateSync(fd);
  writeSync(fd, `${process.pid}\n`);
}
