/**
 * Calls of Linux on open files that Node does not have. Where the system is another one, each does without. Runs in
 * worker threads.
 */
import { constants, copyFileSync } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import koffi from 'koffi';

type Advise = (fd: number, offset: number, length: number, advice: number) => number;
type Fallocate = (fd: number, mode: number, offset: number, length: number) => number;
type Fcntl = (fd: number, command: number, type: 'int', flags: number) => number;
type Seek = (fd: number, offset: number, from: number) => number;

/** Undefined where the system is not Linux. */
export const fileCalls = process.platform === 'linux' ? loadCalls() : undefined;

function loadCalls(): { fadvise: Advise; fallocate: Fallocate; fcntl: Fcntl; lseek: Seek } {
  const library = koffi.load(null);
  return {
    fadvise: library.func('int posix_fadvise(int, int64_t, int64_t, int)') as Advise,
    fallocate: library.func('int fallocate(int, int, int64_t, int64_t)') as Fallocate,
    fcntl: library.func('int fcntl(int, int, ...)') as Fcntl,
    lseek: library.func('int64_t lseek(int, int64_t, int)') as Seek,
  };
}

/** The error of a system call that was made without Node, as Node would throw it. */
export function systemCallError(number: number, call: string): Error {
  const [code, reason] = getSystemErrorMap().get(-number) ?? [`errno ${number}`, 'unknown'];
  return Object.assign(new Error(`${code}: ${reason}, ${call}`), { code });
}

const SET_FLAGS = 4;

/**
 * From now on writes go to the disk without a copy in the system's memory, or no longer do. It is set on the descriptor
 * that the file has anyway: a second descriptor would stay open when the thread dies. False on a file system that
 * cannot write so.
 */
export function setDirect(fd: number, isDirect: boolean): boolean {
  return fileCalls?.fcntl(fd, SET_FLAGS, 'int', isDirect ? constants.O_DIRECT : 0) === 0;
}

const PIECES_ONLY = 1;
const SOON = 3;

/**
 * From now on the system reads no more of the file than it is asked for. By itself it would read several MiB ahead, and
 * a sync in another thread would wait behind all of that: with eight readers 265 ms, with this advice 4 ms. The reading
 * itself takes as long as before.
 */
export function readOnlyWhatIsAskedFor(fd: number): void {
  fileCalls?.fadvise(fd, 0, 0, PIECES_ONLY);
}

/** Lets the disk begin with the next piece while the caller works on the last one. */
export function readNext(fd: number, offset: number, length: number): void {
  if (length > 0) fileCalls?.fadvise(fd, offset, length, SOON);
}

/** File systems answer one of these when they cannot share blocks, or not between these two files. */
const NOT_SHARED = ['EOPNOTSUPP', 'ENOTSUP', 'EXDEV', 'ENOTTY', 'EINVAL', 'ENOSYS'];

/**
 * Makes a new file with the content and the permissions of the other, which shares its blocks and takes no room of its
 * own. False where blocks cannot be shared; then there is no new file.
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

const KEEP_SIZE = 1;
const PUNCH_HOLE = 2;
/** ENOSYS and EOPNOTSUPP. */
const NOT_PUNCHED = [38, 95];

/**
 * Turns a stretch of the file into zeros, and gives its whole blocks back to the disk; the file keeps its length. False
 * where that is not possible; then nothing has changed.
 */
export function punchHole(fd: number, offset: number, length: number): boolean {
  if (fileCalls === undefined) return false;
  if (fileCalls.fallocate(fd, PUNCH_HOLE | KEEP_SIZE, offset, length) === 0) return true;
  const error = koffi.errno();
  if (NOT_PUNCHED.includes(error)) return false;
  throw systemCallError(error, 'fallocate');
}

interface DataRange {
  readonly start: number;
  /** The first position after it. */
  readonly end: number;
}

const SEEK_DATA = 3;
const SEEK_HOLE = 4;
const NO_MORE = 6;
/** EINVAL, ENOSYS and EOPNOTSUPP: the file system does not know where its files have holes. */
const UNKNOWN = [22, 38, 95];

/**
 * The parts of an open file that have data. Between them, and after them up to the size, the file has holes, which read
 * as zeros. Where the system does not know, the whole file is one range. This moves the position of the descriptor, so
 * its user must read from positions of its own.
 */
export function* dataRanges(fd: number, size: number): Generator<DataRange, void, undefined> {
  let position = 0;
  while (position < size) {
    const start = seek(fd, position, SEEK_DATA);
    if (start === 'none') return;
    if (start === 'unknown') {
      yield { start: position, end: size };
      return;
    }
    if (start >= size) return;
    const hole = seek(fd, start, SEEK_HOLE);
    const end = typeof hole === 'number' ? Math.min(hole, size) : size;
    yield { start, end };
    position = end;
  }
}

function seek(fd: number, from: number, wanted: number): number | 'none' | 'unknown' {
  if (fileCalls === undefined) return 'unknown';
  const found = fileCalls.lseek(fd, from, wanted);
  if (found >= 0) return found;
  const error = koffi.errno();
  if (error === NO_MORE) return 'none';
  if (UNKNOWN.includes(error)) return 'unknown';
  throw systemCallError(error, 'lseek');
}
