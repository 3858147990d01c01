/** Makes files cold: what the system has of them in memory goes, so that the next who reads them needs the disk. */
import { closeSync, openSync } from 'node:fs';
import koffi from 'koffi';

const POSIX_FADV_DONTNEED = 4;

const advise = koffi.load(null).func('int posix_fadvise(int, int64_t, int64_t, int)') as (
  fd: number,
  offset: number,
  length: number,
  advice: number,
) => number;

/** The disk must have the file already: what it has not stays in memory. */
export function makeCold(path: string): void {
  const fd = openSync(path, 'r');
  try {
    const error = advise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (error !== 0) throw new Error(`${path} stays in memory: error ${error}`);
  } finally {
    closeSync(fd);
  }
}
