/**
 * The one containment function: every path that a client or a file names passes it before it reaches the disk.
 * It runs in a worker thread, because it looks at the disk.
 */
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { refusals } from '../errors/errors.js';
import { isOwnPath, type Doing } from './own-names.js';
import { isBelow } from './path-order.js';
import { makeFolder } from './published-file.js';

/** A file as a client names it. */
export interface NamedFile {
  /** A folder of ours, in which some names are the server's own. */
  readonly root: string;
  /** A folder below the root that the path is of instead, and which no link may lead to: every name in it is free. */
  readonly folder?: string | undefined;
  readonly path: string;
}

/**
 * The real path of `path` below the folder `root`, with every symbolic link resolved. The last component need
 * not exist; its folder must. Refuses (403) what is not strictly below the root, whatever spelling, link or
 * absolute form it uses.
 */
export function containedPath(root: string, path: string): string {
  if (path.includes('\0')) throw refusals.fileForbidden();
  const realRoot = realpathSync(root);
  const wanted = resolve(root, path);
  if (!isBelow(resolve(root), wanted)) throw refusals.fileForbidden();

  const folder = realpathSync(dirname(wanted));
  if (folder !== realRoot && !isBelow(realRoot, folder)) throw refusals.fileForbidden();
  const real = followLink(join(folder, basename(wanted)));
  if (!isBelow(realRoot, real)) throw refusals.fileForbidden();
  return real;
}

/**
 * The real path of a file that a client names. Refuses (403) what `containedPath` does, and what is the server's own,
 * whatever spelling or link leads to it. With `makes` the folders that are missing on the way are made.
 */
export function clientPath({ root, folder, path }: NamedFile, doing: Doing, makes = false): string {
  if (folder !== undefined) {
    const inner = ownFolder(root, folder, makes);
    if (makes) makeFoldersOf(inner, path);
    return containedPath(inner, path);
  }
  const place = (name: string): string => {
    checkNotOwn(resolve(root), resolve(root, name), doing);
    const real = containedPath(root, name);
    checkNotOwn(realpathSync(root), real, doing);
    return real;
  };
  if (makes) {
    checkNotOwn(resolve(root), resolve(root, path), doing);
    makeFoldersOf(root, path, place);
  }
  return place(path);
}

/** Makes the folders between the root and `path` that are not there yet, under the same rule. The disk has them then. */
export function makeFoldersOf(
  root: string,
  path: string,
  place = (folder: string): string => containedPath(root, folder),
): void {
  const wanted = resolve(root, path);
  if (path.includes('\0') || !isBelow(resolve(root), wanted)) throw refusals.fileForbidden();
  const folders = relative(resolve(root), dirname(wanted)).split(sep);
  let folder = '';
  for (const name of folders.filter((part) => part !== '')) {
    folder = join(folder, name);
    const real = place(folder);
    if (lstatSync(real, { throwIfNoEntry: false }) === undefined) makeFolder(real);
  }
}

/**
 * The real path of the folder at `path` below the root, which no link may lead to, not even from within the root:
 * what lies in it is its own. With `makes` what is missing of it is made.
 */
export function ownFolder(root: string, path: string, makes = false): string {
  const wanted = resolve(root, path);
  if (path.includes('\0') || !isBelow(resolve(root), wanted)) throw refusals.fileForbidden();
  let folder = realpathSync(root);
  for (const name of relative(resolve(root), wanted).split(sep)) {
    folder = join(folder, name);
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found?.isSymbolicLink() === true) throw refusals.fileForbidden();
    if (found?.isDirectory() === false) throw refusals.notDirectory(name);
    if (found !== undefined) continue;
    if (!makes) throw refusals.fileMissing();
    makeFolder(folder);
  }
  return folder;
}

/** Where a path begins that is meant to stay within a folder below the root, as above, or within the root itself. */
export function innerRoot(root: string, folder: string | undefined, makes = false): string {
  return folder === undefined ? root : ownFolder(root, folder, makes);
}

function checkNotOwn(root: string, path: string, doing: Doing): void {
  if (isOwnPath(relative(root, path).split(sep).join('/'), doing)) throw refusals.fileForbidden();
}

function followLink(path: string): string {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() !== true) return path;
  return realpathSync(path);
}
