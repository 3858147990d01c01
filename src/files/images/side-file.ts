/**
 * The file beside an image with its MD5 in 32 hexadecimal digits, as other programs that serve the same folder write and
 * read it. Runs in worker threads.
 */
import { closeSync, fstatSync, lstatSync, readFileSync, rmSync, type BigIntStats } from 'node:fs';
import { publishBytes } from '../../base/disk/published-file.js';
import { openRegularFile, versionOf } from '../../base/disk/regular-file.js';
import { SIDE_FILE } from './image-name.js';

const MD5 = /^[0-9a-f]{32}$/;

interface Digested {
  /** Absolute. */
  readonly image: string;
  /** The version that was digested. */
  readonly version: string;
}

/** Undefined when there is no such file, when it holds no digest, and when it is older than the image. */
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

/** Writes the file, unless the image is not of the digested version any more. */
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
