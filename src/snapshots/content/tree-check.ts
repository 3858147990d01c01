/** Whether a tree can be built as it says: what says so may be damaged or planted. Pure. */
import { refusals } from '../../base/errors/errors.js';
import { isOwnPath } from '../../base/disk/own-names.js';
import type { ContentTree } from './content-tree.js';

/**
 * Refuses (409) paths that leave the root or lead through a link, names that are there twice, and names at the top that
 * are the server's own.
 */
export function checkTree({ folders, files, links }: ContentTree): void {
  const made = new Set<string>();
  const check = (path: string): void => {
    const parent = path.slice(0, Math.max(path.lastIndexOf('/'), 0));
    const name = path.slice(path.lastIndexOf('/') + 1);
    const isPlain = !['', '.', '..'].includes(name) && !name.includes('\0');
    // A folder comes after the one that it is in, so every part of the path has been looked at.
    const isInFolder = parent === '' ? path === name : made.has(parent);
    if (!isPlain || !isInFolder) throw refusals.snapshotDamaged(`'${path}' is no path in it`);
    if (parent === '' && isOwnPath(path))
      throw refusals.snapshotDamaged(`'${path}' is a name of the server's own`);
  };
  const enter = (path: string): void => {
    check(path);
    if (made.has(path)) throw refusals.snapshotDamaged(`'${path}' is in it twice`);
    made.add(path);
  };
  for (const { path } of folders) enter(path);
  const others = new Set<string>();
  for (const { path } of [...files, ...links]) {
    check(path);
    if (made.has(path) || others.has(path)) throw refusals.snapshotDamaged(`'${path}' is in it twice`);
    others.add(path);
  }
}
