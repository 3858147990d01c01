/** Files to be transferred: their content cannot be packed, nor be guessed. */
import { createHash, randomFillSync } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';

export const MEBI = 1024 * 1024;

export interface FileSize {
  readonly mebibytes: number;
  /** Only so much of the beginning is random, and the rest is a hole. */
  readonly randomMebibytes?: number;
}

/** Returns the MD5 of what is random of it, in Base64. */
export function makeRandomFile(path: string, { mebibytes, randomMebibytes = mebibytes }: FileSize): string {
  const bytes = new Uint8Array(MEBI);
  const hash = createHash('md5');
  const fd = openSync(path, 'wx');
  try {
    for (let written = 0; written < randomMebibytes; written++) {
      hash.update(randomFillSync(bytes));
      writeSync(fd, bytes);
    }
    ftruncateSync(fd, mebibytes * MEBI);
  } finally {
    closeSync(fd);
  }
  return hash.digest('base64');
}
