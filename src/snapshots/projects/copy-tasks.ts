/** Copies a project with its snapshots; the job threads run it for the HTTP thread. */
import { cloneFile, dataRanges } from '../../base/disk/linux-files.js';
import { chmodSync, closeSync, lstatSync, mkdirSync, readSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { JobProgress } from '../content/job-progress.js';
import { SNAPSHOTS } from '../../lab/projects/folder-layout.js';
import type { TaskTable } from '../../base/threads/task.js';
import { syncFolder } from '../../base/disk/published-file.js';
import type { Packed } from '../../base/store/store.js';
import { admitGns3Snapshots, copySnapshots, nodeIdsOf, treeOfCopy } from './copied-snapshots.js';
import { contentOfCopy, contentOfRecords } from '../lab-content.js';
import { keepContent } from './staging-tasks.js';
import { withoutAddresses } from './portable-content.js';
import type { JobPlace } from '../job-place.js';
import { readFrozen } from '../freeze-tasks.js';
import { contentVersion } from '../../base/disk/content-version.js';
import type { FrozenFile, FrozenTree } from '../content/frozen-tree.js';
import { syncTree } from '../../base/disk/tree-sync.js';
import { refusals } from '../../base/errors/errors.js';
import { BulkFile } from '../../base/disk/bulk-file.js';
import { openRegularFile } from '../../base/disk/regular-file.js';

export interface CopyTasks extends TaskTable {
  /**
   * Copies the files that `freezeProject` has kept in the work folder, and the snapshots, all or those of these names, into
   * `stagingFolder`, which is empty. Returns warnings about what was left out.
   */
  readonly copyProject: (
    input: JobPlace & {
      stagingFolder: string;
      projectId: string;
      copyId: string;
      records: Packed;
      resetsAddresses: boolean;
      snapshots: readonly string[] | undefined;
      progress: SharedArrayBuffer;
    },
  ) => Promise<string[]>;
}

export const copyTasks: CopyTasks = {
  async copyProject({
    stagingFolder,
    projectId,
    copyId,
    records,
    resetsAddresses,
    snapshots,
    progress: memory,
    ...place
  }) {
    const { root } = place;
    const progress = new JobProgress(memory);
    const original = contentOfRecords(projectId, records);
    const frozen = readFrozen(place);
    progress.expect(frozen.bytes);
    copyTree(treeOfCopy(copyId, nodeIdsOf(original), frozen), stagingFolder, progress);
    const folder = join(stagingFolder, SNAPSHOTS);
    mkdirSync(folder);
    const target = {
      projectId: copyId,
      folder,
      workFolder: join(stagingFolder, 'tmp', 'snapshot'),
      isCopy: true,
    };
    const warnings = [
      ...copySnapshots(join(root, SNAPSHOTS), target, snapshots),
      ...(snapshots === undefined
        ? await admitGns3Snapshots(join(root, SNAPSHOTS), projectId, target, progress)
        : []),
    ];
    syncFolder(folder);
    const content = contentOfCopy(copyId, resetsAddresses ? withoutAddresses(original) : original);
    const settings = { ...content.settings, auto_open: false, auto_start: false, auto_close: false };
    keepContent(stagingFolder, { ...content, settings });
    return warnings;
  },
};

const PIECE = 1024 * 1024;

/** Copies the tree into an empty folder; the disk has it afterwards. */
function copyTree({ folders, files, links }: FrozenTree, target: string, progress: JobProgress): void {
  const copies = new FileCopies(progress);
  for (const { path } of folders) mkdirSync(join(target, path));
  for (const file of files) copies.copy(file, join(target, file.path));
  for (const link of links) symlinkSync(link.target, join(target, link.path));
  syncTree(target, folders.map(pathOf), files.map(pathOf));
  // Last, because these modes may forbid writing into the folders.
  for (const { path, mode } of folders.toReversed()) chmodSync(join(target, path), mode);
}

class FileCopies {
  readonly #progress: JobProgress;
  readonly #piece = Buffer.allocUnsafeSlow(PIECE);
  #isShared = true;

  constructor(progress: JobProgress) {
    this.#progress = progress;
  }

  copy(file: FrozenFile, target: string): void {
    const { source, mode, modifiedMs, size, keptAs } = file;
    this.#isShared &&= source === undefined || cloneFile(source, target);
    if (source === undefined) BulkFile.create(target, mode, 0).finish(false);
    else if (this.#isShared) this.#progress.advance(size);
    else this.#read(source, target, file);
    if (source !== undefined && keptAs === 'none') checkVersion(source, file);
    if (this.#isShared) chmodSync(target, mode);
    utimesSync(target, modifiedMs / 1000, modifiedMs / 1000);
  }

  #read(source: string, target: string, { mode, size, path }: FrozenFile): void {
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

/** A file that was not kept may have been written to meanwhile. */
function checkVersion(source: string, { path, version }: FrozenFile): void {
  if (contentVersion(lstatSync(source, { bigint: true })) !== version) throw refusals.contentChanging(path);
}

function pathOf({ path }: { readonly path: string }): string {
  return path;
}
