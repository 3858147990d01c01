/**
 * Containment: every path that comes from a client or from a file passes these functions before it is used on the disk.
 * They run in worker threads, because they read the disk.
 */
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { refusals } from '../errors/errors.js';
import { isOwnPath, type Doing } from './own-names.js';
import { isBelow } from './path-order.js';
import { makeFolder } from './published-file.js';

/** A file by the path that a client gives. */
export interface NamedFile {
  /** A folder of the server, in which some names belong to it. */
  readonly root: string;
  /**
   * When given, the path starts at this folder below the root. No link may lead to it, and every name in it is free.
   */
  readonly folder?: string | undefined;
  readonly path: string;
}

/**
 * The real path of `path` below the folder `root`, with every symbolic link resolved. The last component need
 * not exist; its folder must. Refuses (403) a path that does not lead strictly below the root, whatever spelling, link
 * or absolute form it uses.
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
 * The real path of a file that a client names. Refuses (403) what `containedPath` refuses, and names that belong to the
 * server, whatever spelling or link leads to them. With `makes` it makes missing folders on the way.
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

/** Makes the missing folders between the root and `path`, under the same rule, and syncs them. */
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
 * The real path of the folder at `path` below the root. No part of the path may be a link, not even one within the
 * root, so nothing else shares the content of the folder. With `makes` it makes missing folders.
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

/** The folder that a path must stay in: a folder below the root, as above, or the root itself. */
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
