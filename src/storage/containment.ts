/**
 * The one containment function: every path that a client or a file names passes it before it reaches the disk.
 * It runs in a worker thread, because it looks at the disk.
 */
import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { refusals } from '../errors.js';
import { isBelow } from './path-order.js';

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

/** Makes the folders between the root and `path` that are not there yet, under the same rule. */
export function makeFoldersOf(root: string, path: string): void {
  const wanted = resolve(root, path);
  if (path.includes('\0') || !isBelow(resolve(root), wanted)) throw refusals.fileForbidden();
  const folders = relative(resolve(root), dirname(wanted)).split(sep);
  let folder = '';
  for (const name of folders.filter((part) => part !== '')) {
    folder = join(folder, name);
    const real = containedPath(root, folder);
    if (lstatSync(real, { throwIfNoEntry: false }) === undefined) mkdirSync(real, { recursive: true });
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
    mkdirSync(folder, { recursive: true });
  }
  return folder;
}

/** Where a path begins that is meant to stay within a folder below the root, as above, or within the root itself. */
export function innerRoot(root: string, folder: string | undefined, makes = false): string {
  return folder === undefined ? root : ownFolder(root, folder, makes);
}

function followLink(path: string): string {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() !== true) return path;
  return realpathSync(path);
}
