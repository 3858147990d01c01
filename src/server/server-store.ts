/** The store of a server, whichever it is. */
import type { CommitMetrics, Companion } from '../base/store/commit-metrics.js';
import type { Notice } from '../base/store/journal-opening.js';
import type { SharedStore, Store } from '../base/store/store.js';
import type { FarmMember } from '../farm/farm-member.js';
import type { Forwarder } from '../http/forwarding/forwarder.js';
import type { CountedPool } from '../base/threads/pool-metrics.js';

export interface ServerStore extends Store {
  /** Opens the store, and returns messages for the operator. */
  open(): Promise<readonly Notice[]>;
  /** There is one companion. */
  accompany(companion: Companion): void;
  /** Writes all records of one moment to a new file, but for those whose keys begin with one of `except`. */
  copyTo(path: string, except: readonly string[]): Promise<void>;
  /** The thread of the store, if it has one. */
  readonly pool: CountedPool | undefined;
  /** This server among the others of its farm, if there are others. */
  readonly member?: FarmMember | undefined;
  /** The part of the store that all servers of the farm have, if there are others. */
  readonly shared?: SharedStore | undefined;
  /** The sender of requests to the others; there once the store is open. */
  readonly forwarder?: Forwarder | undefined;
  readonly writeMetrics: CommitMetrics['write'];
}
