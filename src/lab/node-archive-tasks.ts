/** Unpacking a tar archive into the folder of a node, by disk threads, for the HTTP thread. */
import { randomUUID } from 'node:crypto';
import { closeSync, lstatSync, mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { refusals } from '../errors.js';
import type { TaskTable } from '../pool/task.js';
import type { TaskPool } from '../pool/task-pool.js';
import { containedPath, ownFolder } from '../storage/containment.js';
import { syncFolder } from '../storage/published-file.js';
import { openRegularFile } from '../storage/regular-file.js';
import { readTar, unpackTar } from '../storage/tar-reading.js';
import { TEMPORARY } from './folder-layout.js';
import type { NodeFile } from './node-folder.js';

export interface NodeArchiveTasks extends TaskTable {
  /**
   * Unpacks the archive, a file of the temporary folder of the project. All of it is checked and unpacked aside first;
   * then its files take their places one by one, each whole. Folders are joined, and nothing is deleted.
   */
  readonly unpackNodeFiles: (input: NodeFile & { archive: string }) => Promise<void>;
}

export type ArchiveDisk = Pick<TaskPool<NodeArchiveTasks>, 'run'>;

/** Paths relative to the node's folder; folders each after the one that it is in. */
interface Wanted {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

export const nodeArchiveTasks: NodeArchiveTasks = {
  async unpackNodeFiles({ root, folder, path, archive }) {
    const temporary = ownFolder(root, TEMPORARY, true);
    const aside = join(temporary, `${randomUUID()}.unpacked`);
    try {
      const { fd, size } = openRegularFile(containedPath(temporary, archive));
      try {
        const content = await readTar(fd, size);
        unpackTar(fd, content, aside);
        const wanted = {
          folders: [...levelsOf(path), ...[...content.folders].map((name) => join(path, name))],
          files: [...content.files.keys()].map((name) => join(path, name)),
        };
        place(wanted, ownFolder(root, folder, true), (name) =>
          join(aside, name.slice(path === '' ? 0 : path.length + 1)),
        );
      } finally {
        closeSync(fd);
      }
    } finally {
      rmSync(aside, { recursive: true, force: true });
    }
  },
};

function place({ folders, files }: Wanted, target: string, sourceOf: (file: string) => string): void {
  for (const folder of folders) checkFree(target, folder, 'folder');
  for (const file of files) checkFree(target, file, 'file');
  const changed = new Set(
    makeFolders(folders.map((folder) => join(target, folder))).map((made) => dirname(made)),
  );
  for (const file of files) {
    const to = join(target, file);
    renameSync(sourceOf(file), to);
    changed.add(dirname(to));
  }
  for (const folder of changed) syncFolder(folder);
}

/** Links are never followed, and never replaced. */
function checkFree(target: string, path: string, kind: 'file' | 'folder'): void {
  const found = lstatSync(join(target, path), { throwIfNoEntry: false });
  const fits = kind === 'file' ? found?.isFile() : found?.isDirectory();
  if (fits === false) throw refusals.archiveMemberRefused(path, `what is there already is no ${kind}`);
}

/** All or none of those that are missing; returns those that were made. */
function makeFolders(folders: readonly string[]): string[] {
  const made: string[] = [];
  try {
    for (const folder of folders) {
      if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined) continue;
      mkdirSync(folder);
      made.push(folder);
    }
  } catch (error) {
    for (const folder of made.reverse()) rmdirSync(folder);
    throw error;
  }
  return made;
}

/** The folders on the way to a path, and that itself. */
function levelsOf(path: string): string[] {
  const parts = path === '' ? [] : path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
