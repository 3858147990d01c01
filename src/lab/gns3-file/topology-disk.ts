/** A topology file as it lies on the disk: its bytes, its digest, and the stamp that tells it unchanged. */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { readRegularFile } from '../../base/disk/regular-file.js';

const LARGEST_TOPOLOGY = 256 * 1024 * 1024;

export function readTopology(path: string): Buffer {
  return readRegularFile(path, LARGEST_TOPOLOGY);
}

/** Undefined when there is no such file. */
export function stampOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found?.isFile() === true ? `${found.size}:${found.mtimeNs}:${found.ino}` : undefined;
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}
