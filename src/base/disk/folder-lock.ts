/**
 * Holds folders for this process alone, with flock(2) on the folder itself: there is no file that somebody could delete
 * to get in, a folder that is renamed stays held, and the kernel gives the lock back when the process dies, however it
 * dies. NFS cannot lock a folder that way; there a file in it is locked, for all hosts that have it mounted.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import koffi from 'koffi';

const LOCK_EXCLUSIVE = 2;
const LOCK_WITHOUT_WAITING = 4;
/** As the system errors have it, which libuv numbers below zero. */
const HELD = ['EAGAIN', 'EWOULDBLOCK'];
const FILE = '.lock';

type Flock = (fd: number, operation: number) => number;

/** Throws when another process holds one of them. The locks last as long as the process. */
export function lockFolders(folders: readonly string[]): void {
  const flock = koffi.load(null).func('int flock(int, int)') as Flock;
  const held = new Set<string>();
  for (const folder of folders) {
    const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    const { dev, ino } = fstatSync(fd, { bigint: true });
    // One folder may be several of them.
    if (held.has(`${dev}:${ino}`)) {
      closeSync(fd);
      continue;
    }
    held.add(`${dev}:${ino}`);
    const problem = lock(flock, fd);
    if (problem === undefined) continue;
    closeSync(fd);
    if (!HELD.includes(problem)) lockFile(flock, folder);
    else throw new Error(`the folder ${folder} is held by another running server`);
  }
}

function lockFile(flock: Flock, folder: string): void {
  const fd = openSync(join(folder, FILE), constants.O_RDWR | constants.O_CREAT, 0o600);
  const problem = lock(flock, fd);
  if (problem === undefined) return;
  closeSync(fd);
  if (HELD.includes(problem)) throw new Error(`the folder ${folder} is held by another running server`);
  throw new Error(`the folder ${folder} cannot be locked (${problem}): its file system must know flock`);
}

/** The name of the error; undefined when the lock is had. */
function lock(flock: Flock, fd: number): string | undefined {
  if (flock(fd, LOCK_EXCLUSIVE | LOCK_WITHOUT_WAITING) === 0) return undefined;
  return getSystemErrorMap().get(-koffi.errno())?.[0] ?? String(koffi.errno());
}
