/** Files that the system has on the disk only. */
import { fsyncSync } from 'node:fs';
import koffi from 'koffi';

const DONTNEED = 4;

type Advise = (fd: number, offset: number, length: number, advice: number) => number;

/** Has the system forget what it has of the file in memory; false where that cannot be asked for. */
export function dropFromMemory(fd: number): boolean {
  if (process.platform !== 'linux') return false;
  fsyncSync(fd);
  const advise = koffi.load(null).func('int posix_fadvise(int, int64_t, int64_t, int)') as Advise;
  return advise(fd, 0, 0, DONTNEED) === 0;
}
