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

/** The records below some paths as of one moment. */
export interface Reading {
  readonly records: readonly StoredRecord[];
  readonly position: Position;
}

/** A moment between two commits of a store: followers go on from there. Only the store that made it can read it. */
export type Position = string;

/** Somebody who follows the commits of a store. Its methods must not throw. */
export interface Follower {
  /** The changes of a commit below the followed paths, in its order. All commits are told, in order and whole, some perhaps together. */
  committed(changes: readonly Change[], position: Position): void;
  /** All changes up to the position have been told, whatever they were of. Only a store of several servers calls it. */
  passed?(position: Position): void;
  /** The commits after the position are not kept any more. Nothing else is told: read again, and follow from there. */
  gone(): void;
}

/** The scope of what belongs to all servers together. */
export const FARM_SCOPE = '@farm';

/**
 * The right to change a scope: a project, or what belongs to all servers together. One server at a time holds it. Its
 * commits fail with a refusal (503, `claim_lost`) when another server may have it by now, and leave no trace then.
 */
export interface Claim {
  readonly scope: string;
  /** Grows from one claim of the scope to the next. */
  readonly epoch: number;
  /** The store as the holder of the claim has it: its commits are part of the scope's history, one after the other. */
  readonly store: Store;
  /** Aborted when it is known that the claim is lost. */
  readonly lost: AbortSignal;
  /** False as soon as somebody else might hold the claim, although that is not known yet. */
  isFresh(): boolean;
  /** Lets others have the scope, after all commits that were made before. */
  release(): Promise<void>;
}

/** A claim, and the records as of the moment when it was made; or the server that has the scope. */
export type ClaimOutcome = { readonly claim: Claim; readonly reading: Reading } | { readonly heldBy: string };

/** The other servers that change records of a store, as those see them who have records in memory. */
export interface OtherServers {
  /**
   * Returns the records below the path as this server knows them, and tells `takeOver` of each that others change from then
   * on. Undefined for a path that no other server changes.
   */
  keep(at: Key, takeOver: (key: Key, value: unknown) => void): readonly StoredRecord[] | undefined;
  /**
   * Resolves with undefined when all that others were acknowledged before has been taken over; with the age in milliseconds
   * of what is known, when the store does not answer.
   */
  catchUp(): Promise<number | undefined>;
  /** Refuses (503) a change, when the others may long have taken the right to it away. */
  checkHeard(): void;
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
  /** The same records, with their moment. */
  read(...prefixes: readonly Key[]): Promise<Reading>;
  /** Tells of every commit after the position that changes records below the prefixes, until what is returned is called. */
  follow(prefixes: readonly Key[], position: Position, follower: Follower): () => void;
  /** Set where a commit waits for servers that may be out of reach for long: so long somebody waits for its outcome. */
  readonly patienceMs?: number;
  /** Set where other servers change records, too. */
  readonly others?: OtherServers;
  /** Claims a scope, and reads the prefixes in the same moment: no commit of an earlier holder comes afterwards. */
  claim(scope: string, ...prefixes: readonly Key[]): Promise<ClaimOutcome>;
  /** Ends the store after all commits that were given before. */
  close(): Promise<void>;
}

/** A store of several servers, each with a name of its own. */
export interface SharedStore extends Store {
  /**
   * Keeps a record for as long as this server lives, also over a loss of its claims; others see it for some seconds more
   * when it dies. Scopes that are claimed are records, too: `['owner', scope]` has the name of the server as its value.
   */
  announce(key: Key, value: unknown): Promise<void>;
  /**
   * A position that all commits lie before that any server was told of. Positions of such a store are numbers, and those of
   * later commits are larger.
   */
  latest(): Promise<Position>;
}
