/** The file beside a pack that says which chunks are in it. What is missing or damaged is passed over. Runs in a worker thread. */
import { closeSync, constants, openSync } from 'node:fs';
import { hash } from 'node:crypto';
import { writeWhole } from '../../base/disk/published-file.js';
import { readRegularFile } from '../../base/disk/regular-file.js';
import { RECORD_LENGTH } from './chunk-table.js';
import { DIGEST_LENGTH } from './content-digest.js';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const MODE = 0o600;
/** Of a pack of some terabytes. */
const LARGEST = 2 ** 31;

/** The records follow a digest of theirs, so that no damage leads to content that is another's. */
export function writePackIndex(path: string, records: Buffer): void {
  const fd = openSync(path, CREATE, MODE);
  try {
    const digest = hash('sha256', records, 'buffer');
    writeWhole(fd, digest, 0);
    writeWhole(fd, records, digest.length);
  } finally {
    closeSync(fd);
  }
}

/** As `ChunkTable` takes them. */
export function readPackIndex(path: string): Buffer {
  const none = Buffer.alloc(0);
  let bytes: Buffer;
  try {
    bytes = readRegularFile(path, LARGEST);
  } catch {
    return none;
  }
  const records = bytes.subarray(DIGEST_LENGTH);
  const isWhole = records.length % RECORD_LENGTH === 0 && bytes.length > DIGEST_LENGTH;
  return isWhole && hash('sha256', records, 'buffer').equals(bytes.subarray(0, DIGEST_LENGTH))
    ? records
    : none;
}
