/**
 * Reading and writing files that clients name, a piece at a time, for the HTTP thread. The state of a transfer
 * is a descriptor, so a slow client holds no thread.
 */
import { closeSync, readSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { refusals } from '../errors.js';
import type { TaskTable } from '../pool/task.js';
import { containedPath, makeFoldersOf } from './containment.js';
import { isBelow } from './path-order.js';
import { openRegularFile, type OpenedFile } from './regular-file.js';
import {
  createUnpublished,
  discardFile,
  publishFile,
  writeWhole,
  type UnpublishedFile,
} from './published-file.js';

export interface FileTasks extends TaskTable {
  readonly openFile: (input: { root: string; path: string }) => OpenedFile;
  readonly readPiece: (input: { fd: number; position: number; length: number }) => Uint8Array<ArrayBuffer>;
  readonly closeFile: (input: { fd: number }) => void;
  /** The temporary file lies in the folder `tmp` of the root, which the owner of the root empties. */
  readonly createFile: (input: { root: string; path: string; makesFolders?: boolean }) => UnpublishedFile;
  readonly writePiece: (input: { fd: number; position: number; bytes: Uint8Array }) => void;
  readonly publishFile: (input: UnpublishedFile) => void;
  readonly discardFile: (input: UnpublishedFile) => void;
}

export const fileTasks: FileTasks = {
  openFile({ root, path }) {
    return openRegularFile(containedPath(root, path));
  },

  readPiece({ fd, position, length }) {
    const bytes = new Uint8Array(length);
    const read = readSync(fd, bytes, 0, length, position);
    return read === length ? bytes : bytes.slice(0, read);
  },

  closeFile({ fd }) {
    closeSync(fd);
  },

  createFile({ root, path, makesFolders = false }) {
    const temporary = containedPath(root, 'tmp');
    checkLasting(temporary, resolve(root, path));
    if (makesFolders) makeFoldersOf(root, path);
    const target = containedPath(root, path);
    checkLasting(temporary, target);
    if (!statSync(dirname(target)).isDirectory()) throw refusals.notDirectory(basename(path));
    const found = statSync(target, { throwIfNoEntry: false });
    if (found?.isDirectory() === true) throw refusals.isDirectory(basename(path));
    if (found?.isFile() === false) throw refusals.fileForbidden();
    return createUnpublished(temporary, target);
  },

  writePiece({ fd, position, bytes }) {
    writeWhole(fd, bytes, position);
  },

  publishFile,
  discardFile,
};

/** What is put into the temporary folder is lost when its owner empties it. */
function checkLasting(temporary: string, target: string): void {
  if (target === temporary || isBelow(temporary, target)) throw refusals.fileForbidden();
}
