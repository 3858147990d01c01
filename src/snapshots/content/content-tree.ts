/** The files of a project as a snapshot describes them: where the bytes of each lie in the content store. Pure. */
import { refusals } from '../../base/errors/errors.js';
import { isOwnPath } from '../../base/disk/own-names.js';

/** A stretch of a file. What no extent covers is zeros. */
export interface Extent {
  /** Within the file. */
  readonly position: number;
  readonly length: number;
  /** A file of the content store, and where in it. */
  readonly object: string;
  readonly offset: number;
}

export interface StoredFile {
  /** Below the root, with slashes. */
  readonly path: string;
  readonly size: number;
  /** The permissions. */
  readonly mode: number;
  readonly modifiedMs: number;
  /** Of the file that was stored: one that still has it has the same content. */
  readonly version: string;
  /** See `ContentDigest`; undefined while it is being found out. */
  readonly digest: string | undefined;
  /** In the order of their positions. */
  readonly extents: readonly Extent[];
}

/** A symbolic link, kept as it is and never followed. */
export interface StoredSymlink {
  readonly path: string;
  readonly target: string;
}

export interface StoredFolder {
  readonly path: string;
  readonly mode: number;
}

export interface ContentTree {
  /** Each after the one that it is in. */
  readonly folders: readonly StoredFolder[];
  readonly files: readonly StoredFile[];
  readonly links: readonly StoredSymlink[];
}

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
