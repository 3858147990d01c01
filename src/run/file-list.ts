/** The files of a project with their digests. One file is digested at a time, so that file threads stay free. */
import { isOwnPath } from '../base/disk/own-names.js';
import type { ComputeFiles } from './files.js';
import { Turns } from './nodes/turns.js';

interface ListedFile {
  readonly md5sum: string;
  readonly path: string;
}

const MOST_FILES = 100_000;
/** Pieces of disks that are shared between nodes. */
const NOT_LISTED = '.ghost';

export class FileLists {
  readonly #files: ComputeFiles;
  readonly #turns = new Turns();

  constructor(files: ComputeFiles) {
    this.#files = files;
  }

  /** Word 0 of `cancelled` ends it when it is no longer 0. Files that cannot be read are not listed. */
  async list(root: string, cancelled: Int32Array<SharedArrayBuffer>): Promise<ListedFile[]> {
    return this.#turns.take(async () => {
      const listed: ListedFile[] = [];
      if (isSet(cancelled)) return listed;
      for (const path of await this.#files.run('findFiles', { root, limit: MOST_FILES })) {
        if (path.endsWith(NOT_LISTED) || isOwnPath(path, 'read')) continue;
        if (isSet(cancelled)) break;
        const md5sum = await this.#files.run('md5OfFile', { root, path, cancelled });
        if (md5sum !== undefined) listed.push({ md5sum, path });
      }
      return listed;
    });
  }
}

function isSet(cancelled: Int32Array<SharedArrayBuffer>): boolean {
  return Atomics.load(cancelled, 0) !== 0;
}
