/** Files of the operator. Links are followed: programs that renew such files make some. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

interface LinkedFile {
  readonly text: string;
  /** Another one after any change. */
  readonly version: string;
}

/** Reads a file of at most `limit` bytes, and waits for none that is no file. Throws. */
export function readLinkedFile(path: string, limit: number): LinkedFile {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(fd, { bigint: true });
    if (!found.isFile()) throw new Error('it is no file');
    if (found.size > limit) throw new Error(`it has more than ${limit} bytes`);
    const version = [found.ino, found.size, found.mtimeNs].map((number) => number.toString(36)).join('-');
    return { text: readFileSync(fd, 'utf8'), version };
  } finally {
    closeSync(fd);
  }
}
