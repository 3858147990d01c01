/**
 * Files that appear whole or not at all: written under a temporary name in a folder of the same file system,
 * synced, renamed, and the folder of the new name synced. Runs in a worker thread.
 */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** An unfinished file: its holder must pass it to `publishFile` or to `discardFile`. */
export interface UnpublishedFile {
  readonly fd: number;
  readonly temporary: string;
  readonly target: string;
}

export function createUnpublished(temporaryFolder: string, target: string): UnpublishedFile {
  makeFolder(temporaryFolder);
  const temporary = join(temporaryFolder, `${randomUUID()}.tmp`);
  return { fd: openSync(temporary, CREATE, 0o644), temporary, target };
}

export function writeWhole(fd: number, bytes: Uint8Array, position: number): void {
  let written = 0;
  while (written < bytes.length) {
    written += writeSync(fd, bytes, written, bytes.length - written, position + written);
  }
}

/** Afterwards the target holds the new content, also after a power cut. */
export function publishFile(file: UnpublishedFile): void {
  try {
    fsyncSync(file.fd);
  } catch (error) {
    discardFile(file);
    throw error;
  }
  closeSync(file.fd);
  renameSynced(file.temporary, file.target);
}

export function discardFile(file: UnpublishedFile): void {
  closeSync(file.fd);
  removeTemporary(file.temporary);
}

/** Ignores errors: a file that cannot be removed now goes when temporary folders are emptied. */
function removeTemporary(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // It stays until then.
  }
}

/** Writes a small file in one go. */
export function publishBytes(temporaryFolder: string, target: string, bytes: Uint8Array): void {
  const file = createUnpublished(temporaryFolder, target);
  try {
    writeWhole(file.fd, bytes, 0);
  } catch (error) {
    discardFile(file);
    throw error;
  }
  publishFile(file);
}

/** Renames and syncs. Whatever fails, `from` is removed, and `to` is what it was before. */
export function renameSynced(from: string, to: string): void {
  try {
    replaceSynced(from, to);
  } catch (error) {
    removeTemporary(from);
    throw error;
  }
}

/** Renames and syncs. Whatever fails, both names have the files that they had before. */
export function replaceSynced(from: string, to: string): void {
  const before = secondName(to, dirname(from));
  try {
    renameSync(from, to);
    try {
      syncFolder(dirname(to));
    } catch (error) {
      if (before === undefined) renameSync(to, from);
      else {
        linkSync(to, from);
        renameSync(before, to);
      }
      throw error;
    }
  } finally {
    if (before !== undefined) removeTemporary(before);
  }
}

/**
 * Gives the file a second name. Undefined where there is no file, or no second names; then a rename cannot be undone.
 */
function secondName(path: string, folder: string): string | undefined {
  const name = join(folder, `${randomUUID()}.tmp`);
  try {
    linkSync(path, name);
    return name;
  } catch {
    return undefined;
  }
}

/** Makes the folder and the missing folders on the way to it, and syncs them all. */
export function makeFolder(path: string): void {
  const folder = resolve(path);
  const first = mkdirSync(folder, { recursive: true });
  if (first === undefined) return;
  const made = [folder];
  for (let level = folder; level !== first && level !== dirname(level); level = dirname(level))
    made.push(dirname(level));
  try {
    for (const level of made) syncFolder(dirname(level));
  } catch (error) {
    removeEmpty(made);
    throw error;
  }
}

/** Removes folders that may not be on the disk, so that no later call relies on them; stops at one that is in use. */
function removeEmpty(folders: readonly string[]): void {
  try {
    for (const folder of folders) rmdirSync(folder);
  } catch {
    // It is in use.
  }
}

export function syncFolder(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
