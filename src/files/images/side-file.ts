/**
 * The file beside an image that tells its MD5, as other programs that serve the same folder write it and read it: 32
 * hexadecimal digits. Runs in worker threads.
 */
import { closeSync, fstatSync, lstatSync, readFileSync, rmSync, type BigIntStats } from 'node:fs';
import { publishBytes } from '../../base/disk/published-file.js';
import { openRegularFile, versionOf } from '../../base/disk/regular-file.js';
import { SIDE_FILE } from './image-name.js';

const MD5 = /^[0-9a-f]{32}$/;

export interface Digested {
  /** Absolute. */
  readonly image: string;
  /** Of the image that was digested. */
  readonly version: string;
}

/** Undefined when there is none, when it is no digest, and when it is older than the image. */
export function readSideFile(image: string, { mtimeNs, ctimeNs }: BigIntStats): string | undefined {
  let fd: number | undefined;
  try {
    ({ fd } = openRegularFile(image + SIDE_FILE));
    const side = fstatSync(fd, { bigint: true });
    if (side.size !== 32n || side.mtimeNs < mtimeNs || side.ctimeNs < ctimeNs) return undefined;
    const text = readFileSync(fd, 'latin1');
    return MD5.test(text) ? text : undefined;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Nothing is written, or left, beside an image that is not the one that was digested. */
export function writeSideFile({ image, version }: Digested, temporary: string, md5: string): void {
  if (!isStill(image, version)) return;
  publishBytes(temporary, image + SIDE_FILE, Buffer.from(md5, 'latin1'));
  if (!isStill(image, version)) removeSideFile(image);
}

export function removeSideFile(image: string): void {
  rmSync(image + SIDE_FILE, { recursive: true, force: true });
}

function isStill(image: string, version: string): boolean {
  const found = lstatSync(image, { bigint: true, throwIfNoEntry: false });
  return found?.isFile() === true && versionOf(found) === version;
}
