/** What is in the folder of a node, and its removal, by worker threads, for the HTTP thread. */
import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, renameSync, rmdirSync, rmSync, unlinkSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isRefusal, refusals } from '../../base/errors/errors.js';
import type { TaskTable } from '../../base/threads/task.js';
import { ownFolder } from '../../base/disk/containment.js';
import { syncFolder } from '../../base/disk/published-file.js';
import { TEMPORARY } from '../../lab/projects/folder-layout.js';
import type { NodeFile } from './node-folder.js';

export interface FolderEntry {
  /** Below the node's folder, with slashes. */
  readonly path: string;
  /** A link is something else, wherever it leads. */
  readonly type: 'file' | 'folder' | 'other';
  /** Of a file. */
  readonly size: number;
  readonly modifiedMs: number;
  readonly isExecutable: boolean;
}

export interface NodeFileTasks extends TaskTable {
  /** By path. A node that has no folder yet has nothing in it; any other folder that is missing is refused (404). */
  readonly listNodeFiles: (input: NodeFile & { isRecursive: boolean; limit: number }) => FolderEntry[];
  /** A file, a link itself, or a folder, which must be empty unless all that is in it is meant, too. */
  readonly removeNodeFile: (input: NodeFile & { isRecursive: boolean }) => void;
}

const OWNER_EXECUTES = 0o100;

export const nodeFileTasks: NodeFileTasks = {
  listNodeFiles({ root, folder, path, isRecursive, limit }) {
    const top = topFolder(root, folder, path);
    const found: FolderEntry[] = [];
    const waiting = top === undefined ? [] : [''];
    for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
      for (const name of namesIn(join(top ?? '', below))) {
        const relative = join(below, name);
        const stats = lstatSync(join(top ?? '', relative), { throwIfNoEntry: false });
        if (stats === undefined) continue;
        found.push(entryOf(join(path, relative), stats));
        if (found.length > limit) throw refusals.tooMany('files in this folder', limit);
        if (isRecursive && stats.isDirectory()) waiting.push(relative);
      }
    }
    return found.sort((a, b) => (a.path < b.path ? -1 : 1));
  },

  removeNodeFile({ root, folder, path, isRecursive }) {
    const parent = ownFolder(root, join(folder, dirname(path)));
    const target = join(parent, basename(path));
    if (!lstatSync(target).isDirectory()) {
      unlinkSync(target);
    } else if (isRecursive) {
      // Aside in one step: nobody sees a folder of which half has gone.
      const trash = join(ownFolder(root, TEMPORARY, true), `${randomUUID()}.deleted`);
      renameSync(target, trash);
      rmSync(trash, { recursive: true, force: true });
    } else {
      if (readdirSync(target).length > 0) throw refusals.folderNotEmpty(path);
      rmdirSync(target);
    }
    syncFolder(parent);
  },
};

function topFolder(root: string, folder: string, path: string): string | undefined {
  try {
    return ownFolder(root, join(folder, path));
  } catch (error) {
    if (path === '' && isRefusal(error, 'file_missing')) return undefined;
    throw error;
  }
}

/** None when the folder has just gone. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

function entryOf(path: string, stats: Stats): FolderEntry {
  const type = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other';
  return {
    path,
    type,
    size: type === 'file' ? stats.size : 0,
    modifiedMs: stats.mtimeMs,
    isExecutable: (stats.mode & OWNER_EXECUTES) !== 0,
  };
}
