/**
 * The store contract: durable records under keys that are paths. What `commit` acknowledged is on the disk: neither the
 * death of the process nor a power cut at the next instruction loses it; a commit is whole or not at all; one that fails
 * leaves no trace.
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
   * Applies the changes in order, all or none. Rejects with a 507 refusal when there is no room, which
   * commits that make the store smaller have some of their own for, and with a 503 when the disk cannot be written.
   */
  commit(changes: readonly Change[]): Promise<void>;
  /** The same for changes that were packed, by other threads perhaps: those of all parts are one commit. */
  commitPacked(...parts: readonly Packed[]): Promise<void>;
  /** Every record whose key starts with one of the prefixes, of one moment, in key order prefix by prefix. */
  load(...prefixes: readonly Key[]): Promise<StoredRecord[]>;
  /** The same, left packed for another thread. */
  loadPacked(...prefixes: readonly Key[]): Promise<Packed>;
  /** Ends the store; everything committed before is safely on the disk afterwards. */
  close(): Promise<void>;
}
