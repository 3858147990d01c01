/** The files of a project as a snapshot describes them: where the bytes of each lie in the content store. Pure. */
import { refusals } from '../../base/errors/errors.js';
import { isOwnPath } from '../../base/disk/own-names.js';

/** A part of a file and its place in the store. Bytes that no extent covers are zeros. */
export interface Extent {
  /** The position in the file. */
  readonly position: number;
  readonly length: number;
  /** The file of the content store that has the bytes, and their offset in it. */
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
  /** The version of the stored file: while the file of the project has this version, it has the same content. */
  readonly version: string;
  /** See `ContentDigest`; undefined until the file is read as a whole. */
  readonly digest: string | undefined;
  /** Ordered by position. */
  readonly extents: readonly Extent[];
}

/** A symbolic link; it is stored as it is and never followed. */
export interface StoredSymlink {
  readonly path: string;
  readonly target: string;
}

export interface StoredFolder {
  readonly path: string;
  readonly mode: number;
}

export interface ContentTree {
  /** Parents come before their children. */
  readonly folders: readonly StoredFolder[];
  readonly files: readonly StoredFile[];
  readonly links: readonly StoredSymlink[];
}

/**
 * A manifest may be damaged or planted: refuses (409) paths that leave the root or lead through a link, duplicate paths,
 * and names at the top that are the server's own.
 */
export function checkTree({ folders, files, links }: ContentTree): void {
  const made = new Set<string>();
  const check = (path: string): void => {
    const parent = path.slice(0, Math.max(path.lastIndexOf('/'), 0));
    const name = path.slice(path.lastIndexOf('/') + 1);
    const isPlain = !['', '.', '..'].includes(name) && !name.includes('\0');
    // Parents come before their children, so every part of the path has been checked.
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
  for (const { path, target } of links) {
    if (target === '' || target.includes('\0'))
      throw refusals.snapshotDamaged(`the link '${path}' has no target`);
  }
}
