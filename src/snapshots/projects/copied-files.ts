/** Files of a project in a copy of it: blocks are shared where they can be, and holes stay holes. Runs in worker threads. */
import { chmodSync, closeSync, lstatSync, mkdirSync, readSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { contentVersion } from '../../base/disk/content-version.js';
import type { JobProgress } from '../content/job-progress.js';
import type { StillFile, StillTree } from '../content/still-tree.js';
import { syncTree } from '../../base/disk/tree-sync.js';
import { refusals } from '../../base/errors/errors.js';
import { cloneFile, dataRanges } from '../../base/disk/linux-files.js';
import { BulkFile } from '../../base/disk/bulk-file.js';
import { openRegularFile } from '../../base/disk/regular-file.js';

const PIECE = 1024 * 1024;

/** Makes all of it below the target, which is there and empty; the disk has it afterwards. */
export function copyTree({ folders, files, links }: StillTree, target: string, progress: JobProgress): void {
  const copies = new FileCopies(progress);
  for (const { path } of folders) mkdirSync(join(target, path));
  for (const file of files) copies.copy(file, join(target, file.path));
  for (const link of links) symlinkSync(link.target, join(target, link.path));
  syncTree(target, folders.map(pathOf), files.map(pathOf));
  // Last, because some may be closed to writers.
  for (const { path, mode } of folders.toReversed()) chmodSync(join(target, path), mode);
}

class FileCopies {
  readonly #progress: JobProgress;
  readonly #piece = Buffer.allocUnsafeSlow(PIECE);
  #isShared = true;

  constructor(progress: JobProgress) {
    this.#progress = progress;
  }

  copy(file: StillFile, target: string): void {
    const { source, mode, modifiedMs, size, hold } = file;
    this.#isShared &&= source === undefined || cloneFile(source, target);
    if (source === undefined) BulkFile.create(target, mode, 0).finish(false);
    else if (this.#isShared) this.#progress.advance(size);
    else this.#read(source, target, file);
    if (source !== undefined && hold === 'none') checkVersion(source, file);
    if (this.#isShared) chmodSync(target, mode);
    utimesSync(target, modifiedMs / 1000, modifiedMs / 1000);
  }

  #read(source: string, target: string, { mode, size, path }: StillFile): void {
    const { fd } = openRegularFile(source);
    const copy = BulkFile.create(target, mode, size);
    try {
      for (const { start, end } of dataRanges(fd, size)) {
        this.#skip(copy, start);
        while (copy.position < end) {
          const wanted = Math.min(PIECE, end - copy.position);
          const count = readSync(fd, this.#piece, 0, wanted, copy.position);
          if (count === 0) throw refusals.contentChanging(path);
          copy.write(this.#piece.subarray(0, count));
          this.#progress.advance(count);
        }
      }
      this.#skip(copy, size);
      copy.finish(false);
    } catch (error) {
      copy.discard();
      throw error;
    } finally {
      closeSync(fd);
    }
  }

  #skip(copy: BulkFile, end: number): void {
    const length = end - copy.position;
    if (length === 0) return;
    copy.skip(length);
    this.#progress.advance(length);
  }
}

/** What could be kept by no second name may have been written to meanwhile. */
function checkVersion(source: string, { path, version }: StillFile): void {
  if (contentVersion(lstatSync(source, { bigint: true })) !== version) throw refusals.contentChanging(path);
}

function pathOf({ path }: { readonly path: string }): string {
  return path;
}
