/** Unpacks a tar archive into the folder of a node. Runs in disk threads of its own. */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  type Dirent,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import type { TaskTable } from '../../base/threads/task.js';
import { containedPath, ownFolder } from '../../base/disk/containment.js';
import { checkGrowth } from '../../base/disk/disk-floor.js';
import { syncFolder } from '../../base/disk/published-file.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import type { TarContent } from '../../base/disk/tar-content.js';
import { syncTree } from '../../base/disk/tree-sync.js';
import { readTar, unpackTar } from '../../base/disk/tar-reading.js';
import { placeFiles, removeWork } from '../../lab/projects/file-placing.js';
import { TEMPORARY } from '../../lab/projects/folder-layout.js';
import { moveToTrash } from './node-file-tasks.js';
import type { NodeFile } from './node-folder.js';

interface NodeArchive extends NodeFile {
  /** The name of a file in the temporary folder of the project. */
  readonly archive: string;
  /** The name of a folder there, used by this archive alone. */
  readonly work: string;
}

export interface NodeArchiveTasks extends TaskTable {
  /** Checks the whole archive, then unpacks and syncs it. */
  readonly unpackNodeFiles: (input: NodeArchive) => Promise<void>;
  /** Moves the files to their places, all or none. Folders are merged, and nothing is deleted. */
  readonly placeNodeFiles: (input: NodeArchive) => void;
  /** Copies the folder of a node, whole or not at all, in the place of a folder there. Does nothing for a node without one. */
  readonly copyNodeFolder: (input: { root: string; from: string; to: string }) => void;
  /** Removes the archive and the work folder. */
  readonly removeArchive: (input: NodeArchive) => void;
}

export const nodeArchiveTasks: NodeArchiveTasks = {
  async unpackNodeFiles({ root, path, archive, work }) {
    const temporary = ownFolder(root, TEMPORARY);
    const { fd, size } = openRegularFile(containedPath(temporary, archive));
    try {
      const content = await readTar(fd, size);
      checkGrowth(temporary, sizeOf(content));
      const unpacked = join(temporary, work, 'new', path);
      mkdirSync(dirname(unpacked), { recursive: true });
      unpackTar(fd, content, unpacked);
    } finally {
      closeSync(fd);
    }
  },

  placeNodeFiles({ root, folder, work }) {
    placeFiles({ root, work: join(ownFolder(root, TEMPORARY), work), folder });
  },

  copyNodeFolder({ root, from, to }) {
    if (!existsSync(join(root, from))) return;
    const source = ownFolder(root, from);
    const parent = ownFolder(root, dirname(to), true);
    const copy = join(ownFolder(root, TEMPORARY, true), `${randomUUID()}.copy`);
    try {
      cpSync(source, copy, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
      const entries = readdirSync(copy, { recursive: true, withFileTypes: true });
      const pathsOf = (wanted: (entry: Dirent) => boolean): string[] =>
        entries.filter(wanted).map((entry) => relative(copy, join(entry.parentPath, entry.name)));
      syncTree(
        copy,
        pathsOf((entry) => entry.isDirectory()),
        pathsOf((entry) => entry.isFile()),
      );
      const target = join(parent, basename(to));
      if (existsSync(target)) moveToTrash(root, target);
      renameSync(copy, target);
    } catch (error) {
      rmSync(copy, { recursive: true, force: true });
      throw error;
    }
    syncFolder(parent);
  },

  removeArchive({ root, archive, work }) {
    const temporary = ownFolder(root, TEMPORARY);
    rmSync(join(temporary, archive), { force: true });
    removeWork(join(temporary, work));
  },
};

function sizeOf({ files }: TarContent): number {
  return [...files.values()].reduce((sum, { size }) => sum + size, 0);
}
