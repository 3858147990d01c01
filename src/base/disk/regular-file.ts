/**
 * Opens files that other programs may have put there: only regular files, without following a last link, and without
 * waiting, so that a FIFO or a device cannot block the thread. Runs in a worker thread.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, type BigIntStats } from 'node:fs';
import { basename } from 'node:path';
import { refusals } from '../errors/errors.js';

export interface OpenedFile {
  readonly fd: number;
  readonly size: number;
  readonly modifiedMs: number;
  /** Identifies this content of this file; it is another one after any change. */
  readonly version: string;
}

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

export function openRegularFile(path: string): OpenedFile {
  const fd = openSync(path, READ);
  try {
    const found = fstatSync(fd, { bigint: true });
    if (found.isDirectory()) throw refusals.isDirectory(basename(path));
    if (!found.isFile()) throw refusals.fileForbidden();
    return { fd, size: Number(found.size), modifiedMs: Number(found.mtimeMs), version: versionOf(found) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

export function versionOf({ ino, size, mtimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs].map((number) => number.toString(36)).join('-');
}

/** The whole content of a file of at most `limit` bytes. */
export function readRegularFile(path: string, limit: number): Buffer {
  const { fd, size } = openRegularFile(path);
  try {
    if (size > limit) throw refusals.fileTooLarge(basename(path), limit);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}
