/** Where an open file has data, and where it has holes that nobody needs to read. Runs in worker threads. */
import koffi from 'koffi';
import { fileCalls } from './file-calls.js';
import { systemCallError } from './system-call-error.js';

export interface DataRange {
  readonly start: number;
  /** The first position after it. */
  readonly end: number;
}

const SEEK_DATA = 3;
const SEEK_HOLE = 4;
const NO_MORE = 6;
/** How file systems that cannot tell say so: EINVAL, ENOSYS, EOPNOTSUPP. */
const UNKNOWN = [22, 38, 95];

/**
 * What is between the ranges, and after them up to the size, is zeros. Where nobody can tell, the whole file is one
 * range. The descriptor's own position moves: who reads says from where.
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
