/** The file of a memory that was saved when its node was stopped. Runs in a file thread. */
import { closeSync, fdatasyncSync, lstatSync, openSync, rmSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { ownFolder } from '../../../base/disk/containment.js';
import { isBelow } from '../../../base/disk/path-order.js';
import { renameSynced } from '../../../base/disk/published-file.js';
import { openRegularFile } from '../../../base/disk/regular-file.js';
import type { TaskTable } from '../../../base/threads/task.js';
import { VM_STATE } from '../../../lab/projects/folder-layout.js';

/** The folder of a node, below the folder of its project. */
interface NodeFolder {
  readonly root: string;
  readonly folder: string;
}

export interface SavedMemoryTasks extends TaskTable {
  /** Moves the made file to its place; the disk has it afterwards. Returns the versions of the files of the machine. */
  readonly placeMemory: (
    input: NodeFolder & { made: string; files: readonly string[] },
  ) => Record<string, string>;
  /** The path of what lies in the place of a memory, and the first difference of the files from these versions. */
  readonly findMemory: (input: NodeFolder & { files: Readonly<Record<string, string>> }) => {
    readonly path: string | undefined;
    readonly fault: string | undefined;
  };
  readonly dropMemory: (input: NodeFolder) => void;
}

export const savedMemoryTasks: SavedMemoryTasks = {
  placeMemory({ root, folder, made, files }) {
    const own = ownFolder(root, folder);
    const fd = openSync(made, 'r');
    try {
      fdatasyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSynced(made, join(own, VM_STATE));
    return Object.fromEntries(
      files.map((path) => [isBelow(own, path) ? relative(own, path) : path, versionAt(path) ?? '']),
    );
  },

  findMemory({ root, folder, files }) {
    const own = ownFolder(root, folder, true);
    const path = join(own, VM_STATE);
    const changed = Object.entries(files).find(
      ([file, version]) => versionAt(isAbsolute(file) ? file : join(own, file)) !== version,
    );
    return {
      path: lstatSync(path, { throwIfNoEntry: false }) === undefined ? undefined : path,
      fault: changed === undefined ? undefined : `${changed[0]} has changed since it was saved`,
    };
  },

  dropMemory({ root, folder }) {
    rmSync(join(ownFolder(root, folder, true), VM_STATE), { recursive: true, force: true });
  },
};

/** Undefined for what cannot be read as a file, or is not there. */
function versionAt(path: string): string | undefined {
  try {
    const { fd, version } = openRegularFile(path);
    closeSync(fd);
    return version;
  } catch {
    return undefined;
  }
}
