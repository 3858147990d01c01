/** What a snapshot says of the files of a project: where the bytes of each lie in the content store. */

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
export interface StoredLink {
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
  readonly links: readonly StoredLink[];
}
