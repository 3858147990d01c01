/** Lists and removes files in the folder of a node. Runs in a file thread. */
import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, renameSync, rmdirSync, rmSync, unlinkSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isRefusal, refusals, systemCode } from '../../base/errors/errors.js';
import type { TaskTable } from '../../base/threads/task.js';
import { clientPath, containedPath, ownFolder } from '../../base/disk/containment.js';
import { publishBytes, syncFolder } from '../../base/disk/published-file.js';
import { readRegularFile } from '../../base/disk/regular-file.js';
import { TEMPORARY } from '../../lab/projects/folder-layout.js';
import type { NodeFile } from './node-folder.js';

export interface FolderEntry {
  /** Below the folder of the node, with slashes. */
  readonly path: string;
  /** A link is `other`, wherever it leads. */
  readonly type: 'file' | 'folder' | 'other';
  /** 0 for anything but a file. */
  readonly size: number;
  readonly modifiedMs: number;
  readonly isExecutable: boolean;
}

export interface NodeFileTasks extends TaskTable {
  /** Sorted by path. Empty for a node without a folder; refuses (404) any other folder that is missing. */
  readonly listNodeFiles: (input: NodeFile & { isRecursive: boolean; limit: number }) => FolderEntry[];
  /** Removes a file, a link itself, or a folder; only an empty folder unless `isRecursive`. */
  readonly removeNodeFile: (input: NodeFile & { isRecursive: boolean }) => void;
  /** Writes the first files of a node, whose paths are below its folder. */
  readonly writeNodeFiles: (input: {
    root: string;
    folder: string;
    files: Readonly<Record<string, string | Uint8Array>>;
    /** Whether files that are there are replaced. */
    replaces: boolean;
  }) => void;
  /** Removes the folder of a node that was deleted: `name` in `folder`. Does nothing when there is none. */
  readonly removeNodeFolder: (input: { root: string; folder: string; name: string }) => void;
  /** The text of a file in the folder of base configurations; undefined when there is none. */
  readonly readConfig: (input: { root: string; path: string }) => string | undefined;
}

const LARGEST_CONFIG = 1024 * 1024;
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
      moveToTrash(root, target);
    } else {
      if (readdirSync(target).length > 0) throw refusals.folderNotEmpty(path);
      rmdirSync(target);
    }
    syncFolder(parent);
  },

  writeNodeFiles({ root, folder, files, replaces }) {
    for (const [path, content] of Object.entries(files)) {
      const target = clientPath({ root, folder, path }, 'write', true);
      if (!replaces && lstatSync(target, { throwIfNoEntry: false }) !== undefined) continue;
      publishBytes(
        ownFolder(root, TEMPORARY, true),
        target,
        typeof content === 'string' ? Buffer.from(content) : content,
      );
    }
  },

  removeNodeFolder({ root, folder, name }) {
    const parent = topFolder(root, folder, '');
    if (parent === undefined) return;
    const target = join(parent, name);
    if (lstatSync(target, { throwIfNoEntry: false }) === undefined) return;
    moveToTrash(root, target);
    syncFolder(parent);
  },

  readConfig({ root, path }) {
    try {
      return readRegularFile(containedPath(root, path), LARGEST_CONFIG).toString('utf8');
    } catch (error) {
      if (isRefusal(error, 'file_missing') || systemCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  },
};

export function moveToTrash(root: string, target: string): void {
  // Renamed first, so that a half deleted folder is never visible.
  const trash = join(ownFolder(root, TEMPORARY, true), `${randomUUID()}.deleted`);
  renameSync(target, trash);
  rmSync(trash, { recursive: true, force: true });
}

function topFolder(root: string, folder: string, path: string): string | undefined {
  try {
    return ownFolder(root, join(folder, path));
  } catch (error) {
    if (path === '' && isRefusal(error, 'file_missing')) return undefined;
    throw error;
  }
}

/** Empty for a folder that has just gone. */
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
