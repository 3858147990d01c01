/** Blocks of the disk that several files have in common, and blocks that are given back. Runs in worker threads. */
import { constants, copyFileSync } from 'node:fs';
import koffi from 'koffi';
import { fileCalls } from './file-calls.js';
import { systemCallError } from './system-call-error.js';

/** How file systems say that they share no blocks, or not these. */
const NOT_SHARED = ['EOPNOTSUPP', 'ENOTSUP', 'EXDEV', 'ENOTTY', 'EINVAL', 'ENOSYS'];
const KEEP_SIZE = 1;
const PUNCH_HOLE = 2;
/** ENOSYS and EOPNOTSUPP. */
const NOT_PUNCHED = [38, 95];

/**
 * A new file with the content and the permissions of the other, which takes no room of its own. False where blocks
 * cannot be shared, and then nothing is left.
 */
export function cloneFile(from: string, to: string): boolean {
  try {
    copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && NOT_SHARED.includes(String(error.code))) return false;
    throw error;
  }
}

/**
 * The stretch reads as zeros from now on, and whole blocks of it are given back; the file stays as long as it is. False
 * where that cannot be, and then nothing has changed.
 */
export function punchHole(fd: number, offset: number, length: number): boolean {
  if (fileCalls === undefined) return false;
  if (fileCalls.fallocate(fd, PUNCH_HOLE | KEEP_SIZE, offset, length) === 0) return true;
  const error = koffi.errno();
  if (NOT_PUNCHED.includes(error)) return false;
  throw systemCallError(error, 'fallocate');
}
