/** What the C library can do with open files and Node cannot. Undefined where the system is not Linux. */
import { constants } from 'node:fs';
import koffi from 'koffi';

type Fallocate = (fd: number, mode: number, offset: number, length: number) => number;
type Fcntl = (fd: number, command: number, type: 'int', flags: number) => number;
type Seek = (fd: number, offset: number, from: number) => number;

export const fileCalls =
  process.platform === 'linux'
    ? {
        fallocate: koffi.load(null).func('int fallocate(int, int, int64_t, int64_t)') as Fallocate,
        fcntl: koffi.load(null).func('int fcntl(int, int, ...)') as Fcntl,
        lseek: koffi.load(null).func('int64_t lseek(int, int64_t, int)') as Seek,
      }
    : undefined;

const SET_FLAGS = 4;

/**
 * From now on writes go to the disk without a copy in the system's memory, or no longer do. It is set on the descriptor
 * that the file has anyway: another one would be nobody's when the thread dies. False on a file system that has no such
 * thing.
 */
export function setDirect(fd: number, isDirect: boolean): boolean {
  return fileCalls?.fcntl(fd, SET_FLAGS, 'int', isDirect ? constants.O_DIRECT : 0) === 0;
}
