/**
 * Files that appear whole or not at all: written under a temporary name in a folder of the same file system,
 * synced, renamed, and the folder of the new name synced. Runs in a worker thread.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, constants, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A file on its way: the holder must hand it to `publishFile` or to `discardFile`. */
export interface UnpublishedFile {
  readonly fd: number;
  readonly temporary: string;
  readonly target: string;
}

export function createUnpublished(temporaryFolder: string, target: string): UnpublishedFile {
  mkdirSync(temporaryFolder, { recursive: true });
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
  rmSync(file.temporary, { force: true });
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

export function renameSynced(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    rmSync(from, { force: true });
    throw error;
  }
  syncFolder(dirname(to));
}

export function syncFolder(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
