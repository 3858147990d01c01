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

function followLink(path: string): string {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() !== true) return path;
  return realpathSync(path);
}
