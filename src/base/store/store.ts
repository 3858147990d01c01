/**
 * The contract of the store: durable records under keys that are paths. Once `commit` has resolved, its changes are on
 * the disk, and neither the death of the process nor a power cut can lose them. A commit is applied whole or not at
 * all, and one that fails leaves no trace.
 */

/** Changes or records in one buffer of exactly their size, which can be moved to another thread. */
export type Packed = Uint8Array<ArrayBuffer>;

/** A path of non-empty strings, from the general to the particular. */
export type Key = readonly string[];

export type Change =
  | { readonly put: Key; readonly value: unknown }
  | { readonly remove: Key }
  /** Removes every record whose key starts with this path. */
  | { readonly clear: Key };

export interface StoredRecord {
  readonly key: Key;
  readonly value: unknown;
}

export interface Store {
  /**
   * Applies the changes in order, all or none. Rejects with a refusal: 507 when there is no room, and 503 when the disk
   * cannot be written. There is some reserved room for commits that make the store smaller.
   */
  commit(changes: readonly Change[], requests?: number): Promise<void>;
  /** Applies packed changes, of other threads perhaps; those of all parts are one commit. */
  commitPacked(...parts: readonly Packed[]): Promise<void>;
  /** Every record whose key starts with one of the prefixes, as of one moment, prefix by prefix in key order. */
  load(...prefixes: readonly Key[]): Promise<StoredRecord[]>;
  /** The same records, still packed, for another thread. */
  loadPacked(...prefixes: readonly Key[]): Promise<Packed>;
  /** Ends the store after all commits that were given before. */
  close(): Promise<void>;
}
