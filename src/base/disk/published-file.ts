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

/** A file on its way: the holder must hand it to `publishFile` or to `discardFile`. */
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

/** What cannot be removed goes when temporary folders are emptied: it changes nothing of what has been done. */
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

/** The disk has the new name afterwards. Whatever fails, `from` has gone, and what was there before is there. */
export function renameSynced(from: string, to: string): void {
  try {
    replaceSynced(from, to);
  } catch (error) {
    removeTemporary(from);
    throw error;
  }
}

/** The disk has the new name afterwards. Whatever fails, both names are those of what they were before. */
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

/** Undefined where there is no file, or files have only one name: then there is no way back from a rename. */
function secondName(path: string, folder: string): string | undefined {
  const name = join(folder, `${randomUUID()}.tmp`);
  try {
    linkSync(path, name);
    return name;
  } catch {
    return undefined;
  }
}

/** Makes the folder and those on the way to it that are missing; the disk has them all afterwards. */
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

/** Whoever comes next must not find a folder that the disk may not have, unless somebody uses it already. */
function removeEmpty(folders: readonly string[]): void {
  try {
    for (const folder of folders) rmdirSync(folder);
  } catch {
    // Somebody does.
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
