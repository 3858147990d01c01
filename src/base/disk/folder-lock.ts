/**
 * Locks folders for this process alone, with flock(2) on the folder itself. So there is no lock file that could be
 * deleted, a renamed folder stays locked, and the kernel unlocks it when the process dies, however it dies. NFS cannot
 * lock folders; there a file in the folder is locked, for all hosts that have mounted it.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import koffi from 'koffi';

const LOCK_EXCLUSIVE = 2;
const LOCK_WITHOUT_WAITING = 4;
/** The names of the error that says that another process has the lock. */
const HELD = ['EAGAIN', 'EWOULDBLOCK'];
const FILE = '.lock';

/** Another process has locked the folder. */
export class FolderHeld extends Error {
  constructor(folder: string) {
    super(`the folder ${folder} is held by another running server`);
  }
}

type Flock = (fd: number, operation: number) => number;

/** Throws FolderHeld when another process holds one of them. The locks last as long as the process. */
export function lockFolders(folders: readonly string[]): void {
  const flock = koffi.load(null).func('int flock(int, int)') as Flock;
  const held = new Set<string>();
  for (const folder of folders) {
    const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    const { dev, ino } = fstatSync(fd, { bigint: true });
    // The same folder may be in the list more than once.
    if (held.has(`${dev}:${ino}`)) {
      closeSync(fd);
      continue;
    }
    held.add(`${dev}:${ino}`);
    const problem = lock(flock, fd);
    if (problem === undefined) continue;
    closeSync(fd);
    if (!HELD.includes(problem)) lockFile(flock, folder);
    else throw new FolderHeld(folder);
  }
}

function lockFile(flock: Flock, folder: string): void {
  const fd = openSync(join(folder, FILE), constants.O_RDWR | constants.O_CREAT, 0o600);
  const problem = lock(flock, fd);
  if (problem === undefined) return;
  closeSync(fd);
  if (HELD.includes(problem)) throw new FolderHeld(folder);
  throw new Error(`the folder ${folder} cannot be locked (${problem}): its file system must know flock`);
}

/** Undefined when the folder is locked now; otherwise the name of the error. */
function lock(flock: Flock, fd: number): string | undefined {
  if (flock(fd, LOCK_EXCLUSIVE | LOCK_WITHOUT_WAITING) === 0) return undefined;
  return getSystemErrorMap().get(-koffi.errno())?.[0] ?? String(koffi.errno());
}
