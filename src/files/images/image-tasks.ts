/** Work on the images on the disk. Paths are below the images folder. Runs in a disk thread. */
import {
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  readdirSync,
  readSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { refusals, systemCode } from '../../base/errors/errors.js';
import type { TaskTable } from '../../base/threads/task.js';
import { containedPath } from '../../base/disk/containment.js';
import { syncFolder } from '../../base/disk/published-file.js';
import { openRegularFile, versionOf } from '../../base/disk/regular-file.js';
import { digestFile } from '../transfer/digester.js';
import type { DigestName, Digests } from '../transfer/landing.js';
import { isImageOf, MAGIC_LENGTH } from './image-magic.js';
import { DEEPEST, IMAGE_FOLDERS, SIDE_FILE, UNFINISHED_FILE, type Emulator } from './image-name.js';
import { readSideFile, removeSideFile, writeSideFile } from './side-file.js';

export interface ImageFacts {
  readonly path: string;
  readonly size: number;
  /** Identifies this content of this file. */
  readonly version: string;
  /** The MD5 in the file beside it, if that is newer than the image. */
  readonly md5: string | undefined;
}

interface ImageDigest {
  readonly version: string;
  readonly size: number;
  readonly digests: Digests;
}

export interface ImageTasks extends TaskTable {
  /** The images in the folder of the emulator by path, then those of other names directly in the images folder. */
  readonly listImages: (input: { root: string; emulator: Emulator }) => ImageFacts[];
  /** The path of the image of this name. A name without folders is searched for in all folders. */
  readonly findImage: (input: { root: string; emulator: Emulator; name: string }) => string | undefined;
  /** Whether there is a regular file at an absolute path, which may lead through links. */
  readonly isImageAt: (input: { path: string }) => boolean;
  /** Undefined when the image changed meanwhile, or it was cancelled by setting word 0. */
  readonly digestImage: (input: {
    root: string;
    path: string;
    digests: readonly DigestName[];
    cancelled: Int32Array<SharedArrayBuffer>;
  }) => ImageDigest | undefined;
  readonly removeImage: (input: { root: string; path: string }) => void;
  /** Gives an image another path in the same folder. Refuses (409) one that is taken. */
  readonly renameImage: (input: { root: string; path: string; target: string }) => void;
  /** Writes the file beside an image that was uploaded or digested; without an MD5, removes it. */
  readonly settleSideFile: (input: {
    root: string;
    path: string;
    version: string;
    temporary: string;
    md5: string | undefined;
  }) => void;
}

const MOST_FILES = 10_000;

export const imageTasks: ImageTasks = {
  listImages({ root, emulator }) {
    const own = imageFiles(root, IMAGE_FOLDERS[emulator], DEEPEST);
    const taken = new Set(own.map((path) => basename(path)));
    const others = imageFiles(root, '', 0).filter((path) => !taken.has(path));
    return [...own, ...others].flatMap((path) => factsOf(root, path, emulator) ?? []);
  },

  findImage({ root, emulator, name }) {
    const folder = IMAGE_FOLDERS[emulator];
    const path = `${folder}/${name}`;
    if (isThere(root, path)) return path;
    if (name.includes('/')) return undefined;
    const below = imageFiles(root, folder, DEEPEST).find((found) => basename(found) === name);
    return below ?? imageFiles(root, '', 0).find((found) => found === name);
  },

  isImageAt({ path }) {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  },

  digestImage({ root, path, digests, cancelled }) {
    const { fd, size, version } = openRegularFile(containedPath(root, path));
    try {
      const found = digestFile(fd, digests, cancelled);
      const isSame = versionOf(fstatSync(fd, { bigint: true })) === version;
      return found !== undefined && isSame ? { version, size, digests: found } : undefined;
    } finally {
      closeSync(fd);
    }
  },

  removeImage({ root, path }) {
    const image = containedPath(root, path);
    if (lstatSync(join(root, path)).isSymbolicLink()) throw refusals.fileForbidden();
    const found = lstatSync(image);
    if (found.isDirectory()) throw refusals.isDirectory(basename(path));
    if (!found.isFile()) throw refusals.fileForbidden();
    unlinkSync(image);
    removeSideFile(image);
    syncFolder(dirname(image));
  },

  renameImage({ root, path, target }) {
    const image = containedPath(root, path);
    if (!lstatSync(join(root, path)).isFile()) throw refusals.fileForbidden();
    const renamed = join(dirname(image), basename(target));
    try {
      // Unlike a rename, a link never takes the place of a file.
      linkSync(image, renamed);
    } catch (error) {
      throw systemCode(error) === 'EEXIST' ? refusals.imageExists(basename(target)) : error;
    }
    syncFolder(dirname(image));
    unlinkSync(image);
    removeSideFile(image);
    syncFolder(dirname(image));
  },

  settleSideFile({ root, path, version, temporary, md5 }) {
    const image = containedPath(root, path);
    if (md5 === undefined) removeSideFile(image);
    else writeSideFile({ image, version }, temporary, md5);
  },
};

/** The files in a folder and below it that may be images, by path, up to a limit. Links are not followed. */
function imageFiles(root: string, folder: string, depth: number): string[] {
  const found: string[] = [];
  const walk = (below: string, entries: readonly Entry[], left: number): void => {
    for (const entry of entries) {
      if (found.length >= MOST_FILES) return;
      const path = posix.join(below, entry.name);
      if (entry.name.startsWith('.') || entry.name.endsWith(SIDE_FILE)) continue;
      if (entry.isDirectory() && left > 0) walk(path, entriesOf(root, path, isSystemError), left - 1);
      else if (entry.isFile() && !entry.name.endsWith(UNFINISHED_FILE)) found.push(path);
    }
  };
  walk(folder, entriesOf(root, folder, isMissing), depth);
  return found.sort();
}

interface Entry {
  readonly name: string;
  isDirectory(): boolean;
  isFile(): boolean;
}

/** Empty for a folder that cannot be read for a permitted reason. Refuses (403) a folder outside of the root. */
function entriesOf(root: string, folder: string, isPassedOver: (error: unknown) => boolean): Entry[] {
  try {
    const entries = readdirSync(folder === '' ? root : containedPath(root, folder), { withFileTypes: true });
    // Sorted, so that the same files are found each time when there are more than the limit.
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (isPassedOver(error)) return [];
    throw error;
  }
}

/** Undefined for a file that is no image of the emulator, has gone meanwhile, or cannot be read. */
function factsOf(root: string, path: string, emulator: Emulator): ImageFacts | undefined {
  let fd: number | undefined;
  try {
    const image = containedPath(root, path);
    const opened = openRegularFile(image);
    fd = opened.fd;
    const head = new Uint8Array(MAGIC_LENGTH);
    if (readSync(fd, head, 0, MAGIC_LENGTH, 0) < MAGIC_LENGTH || !isImageOf(emulator, head)) return undefined;
    const md5 = readSideFile(image, fstatSync(fd, { bigint: true }));
    return { path, size: opened.size, version: opened.version, md5 };
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Whether there is anything at the path; its type is checked when it is opened. */
function isThere(root: string, path: string): boolean {
  try {
    return lstatSync(containedPath(root, path), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function isSystemError(error: unknown): boolean {
  return systemCode(error) !== undefined;
}

function isMissing(error: unknown): boolean {
  const code = systemCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}
