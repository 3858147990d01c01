/** Reads parts of stored files, for archives. Runs in worker threads. */
import { closeSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import type { Extent, StoredFile } from './content-tree.js';

/** A manifest may be damaged or planted: an object must be a file of the store. */
const OBJECT_NAME = /^[\w-][\w.-]{0,254}$/;

/**
 * Reads this many bytes from this position on; fewer only where the file ends. `content` is the folder of the objects.
 * Refuses (409) when an object is missing or too short.
 */
export function readStored(
  content: string,
  file: StoredFile,
  position: number,
  length: number,
): Buffer<ArrayBuffer> {
  const end = Math.max(position, Math.min(position + length, file.size));
  const bytes = Buffer.alloc(end - position);
  const objects = new OpenObject(content, file.path);
  try {
    for (let index = firstAfter(file.extents, position); index < file.extents.length; index++) {
      const extent = file.extents[index];
      if (extent === undefined || extent.position >= end) break;
      const from = Math.max(extent.position, position);
      const to = Math.min(extent.position + extent.length, end);
      const target = bytes.subarray(from - position, to - position);
      objects.read(extent.object, target, extent.offset + from - extent.position);
    }
  } finally {
    objects.close();
  }
  return bytes;
}

/** The index of the first extent that ends behind this position. */
function firstAfter(extents: readonly Extent[], position: number): number {
  let low = 0;
  let high = extents.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { position: start, length } = extents[middle] ?? { position: 0, length: 0 };
    if (start + length > position) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Keeps the last object open: successive extents are often in one object. */
class OpenObject {
  readonly #content: string;
  /** The path of the stored file, for refusals. */
  readonly #path: string;
  #name: string | undefined;
  #fd = -1;

  constructor(content: string, path: string) {
    this.#content = content;
    this.#path = path;
  }

  read(name: string, target: Uint8Array, offset: number): void {
    if (name !== this.#name) this.#open(name);
    for (let done = 0; done < target.length;) {
      const count = readSync(this.#fd, target, done, target.length - done, offset + done);
      if (count === 0) throw refusals.snapshotDamaged(`${name} is too short for ${this.#path}`);
      done += count;
    }
  }

  close(): void {
    if (this.#name !== undefined) closeSync(this.#fd);
    this.#name = undefined;
  }

  #open(name: string): void {
    this.close();
    if (!OBJECT_NAME.test(name)) throw refusals.snapshotDamaged(`${this.#path} is in no object`);
    try {
      this.#fd = openRegularFile(join(this.#content, name)).fd;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
      throw refusals.snapshotDamaged(`${name}, which has content of ${this.#path}, is missing`);
    }
    this.#name = name;
  }
}
