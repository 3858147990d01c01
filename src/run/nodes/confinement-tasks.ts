/** The files of confined programs. Runs in a file thread. */
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lchownSync,
  openSync,
  readdirSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { systemCode } from '../../base/errors/errors.js';
import { isBelow } from '../../base/disk/path-order.js';
import type { TaskTable } from '../../base/threads/task.js';
import type { ProgramView } from '../keeper/namespaces.js';

export interface ConfinementTasks extends TaskTable {
  /**
   * Gives the writable folders, with all in them, to the user, lets all users read what is readable, and returns what
   * the program sees. The folders of the server are hidden, and so are those that no user but their owner can pass
   * through, since a path in them is of no use to the program otherwise.
   */
  readonly prepareView: (input: {
    readonly user: number;
    readonly serverFolders: readonly string[];
    readonly writable: readonly string[];
    readonly readable: readonly string[];
    readonly moved: readonly { readonly path: string; readonly at: string }[];
    readonly devices: readonly string[];
  }) => ProgramView & {
    /** The groups that may use the devices. */
    readonly groups: readonly number[];
  };
}

const READ_BY_ALL = 0o004;
const PASSED_BY_ALL = 0o001;
const USED_BY_GROUP = 0o060;
const BY_OWNER = 6;
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

export const confinementTasks: ConfinementTasks = {
  prepareView({ user, serverFolders, writable, readable, moved, devices }) {
    const own = unique(serverFolders.flatMap(realPath));
    const isOwn = (path: string): boolean =>
      own.includes(path) || own.some((folder) => isBelow(folder, path));
    const written = unique(writable.map((path) => realpathSync(path)));
    const read = unique(readable.map((path) => realpathSync(path))).filter((path) => !written.includes(path));
    for (const path of [...written, ...moved.map(({ path }) => path)]) give(path, user);
    for (const path of read) if (isOwn(path)) letRead(path);
    const all = [
      ...written.map((path) => ({ path, at: path, isWritable: true })),
      ...read.map((path) => ({ path, at: path, isWritable: false })),
      ...moved.map((place) => ({ ...place, isWritable: true })),
    ];
    const closed = all.flatMap(({ at }) => closedFolders(at));
    const hidden = outermost([...own, ...closed, ...moved.map(({ at }) => hiddenFor(at))]);
    const visible = all.filter(({ at }) => hidden.some((folder) => folder === at || isBelow(folder, at)));
    // A folder comes before what is in it.
    visible.sort((a, b) => (a.at < b.at ? -1 : 1));
    return { hidden, visible, groups: [...new Set(devices.flatMap(groupOf))] };
  },
};

/** Nothing for a folder that is not there. */
function realPath(path: string): string[] {
  try {
    return [realpathSync(path)];
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The group that may use the device; never the group of the superuser, to which files of the host belong. */
function groupOf(device: string): number[] {
  const { gid, mode } = statSync(device, { throwIfNoEntry: false }) ?? { gid: 0, mode: 0 };
  return gid !== 0 && (mode & USED_BY_GROUP) === USED_BY_GROUP ? [gid] : [];
}

/** The folder that looks empty but for what is moved there. A folder of the root is covered whole. */
function hiddenFor(at: string): string {
  const folder = dirname(at);
  return folder === dirname(folder) ? at : folder;
}

/** The folders above a path that only some users can pass through. */
function closedFolders(path: string): string[] {
  const found: string[] = [];
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    if ((statSync(folder).mode & PASSED_BY_ALL) === 0) found.push(folder);
  }
  return found;
}

function outermost(folders: readonly string[]): string[] {
  return unique(folders).filter((folder) => !folders.some((other) => isBelow(other, folder)));
}

function unique(paths: readonly string[]): string[] {
  return [...new Set(paths)];
}

/**
 * Follows no link, also when a program that runs puts one there meanwhile: folders are opened before anything in them is
 * given away.
 */
function give(path: string, user: number): void {
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = fstatSync(fd);
    if (found.uid !== user) fchownSync(fd, user, user);
    if (!found.isDirectory()) return;
    const opened = `/proc/self/fd/${fd}`;
    for (const entry of readdirSync(opened, { withFileTypes: true })) {
      const inner = join(opened, entry.name);
      if (entry.isDirectory()) give(inner, user);
      else lchownSync(inner, user, user);
    }
  } catch (error) {
    // It has gone meanwhile.
    if (systemCode(error) !== 'ENOENT') throw error;
  } finally {
    closeSync(fd);
  }
}

/** All users may read a file, or a folder with its files, as its owner does; who gets there is decided by the folders. */
function letRead(path: string): void {
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = fstatSync(fd);
    // All may run a file, or pass through a folder, that its owner may.
    const wanted = found.mode | READ_BY_ALL | ((found.mode >> BY_OWNER) & PASSED_BY_ALL);
    if (wanted !== found.mode) fchmodSync(fd, wanted);
    if (!found.isDirectory()) return;
    for (const entry of readdirSync(`/proc/self/fd/${fd}`, { withFileTypes: true })) {
      if (entry.isDirectory() || entry.isFile()) letRead(join(`/proc/self/fd/${fd}`, entry.name));
    }
  } finally {
    closeSync(fd);
  }
}
