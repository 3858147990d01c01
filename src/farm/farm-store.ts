/**
 * The store of a server of a farm: what belongs to the farm is shared, and changed by the holder of its claim alone; what
 * belongs to this host lies in a store of its own.
 */
import { refusals } from '../base/errors/errors.js';
import { packRecords, unpackChanges } from '../base/store/packing.js';
import {
  FARM_SCOPE,
  type Change,
  type Claim,
  type ClaimOutcome,
  type Follower,
  type Key,
  type OtherServers,
  type Packed,
  type Position,
  type Reading,
  type SharedStore,
  type Store,
  type StoredRecord,
} from '../base/store/store.js';
import type { FarmRecords } from './farm-records.js';
import { keyOf } from './followed-records.js';
import type { Freshness } from './freshness.js';

/** The scope of a server that has the farm to itself. Its chain fences off one that has lost it and does not know yet. */
export const ALONE = '@alone';
/** In the store of a server whose records have gone to a farm. */
export const IN_FARM: Key = ['in-farm'];
/** The first parts of the keys of projects; the second part is the project. */
const OF_PROJECTS: readonly string[] = ['head', 'lab'];
/** The same of what is known about projects beside their content, and in the memory of all servers. */
const ABOUT_PROJECTS: readonly string[] = ['grant', 'group-grant', 'quota', 'end-time', 'deal'];
/** The first parts of the keys of what belongs to all servers together. */
const OF_FARM: readonly string[] = [
  ...['template', 'compute', 'iou_license', 'gns3vm'],
  ...['user', 'token', 'session', 'group'],
];
/** The first parts of the keys of what all servers have in memory. */
export const KEPT: readonly string[] = [...OF_FARM, ...ABOUT_PROJECTS];
const SHARED = new Set([...OF_PROJECTS, ...KEPT]);
/** The paths of all that is shared. */
export const SHARED_RECORDS: readonly Key[] = [...SHARED].map((first) => [first]);

/** So long after a server has heard from the others it trusts what it knows of users. */
const LONGEST_SILENCE_MS = 10_000;
/** Nobody waits longer for the outcome of a change. */
const PATIENCE_MS = 10_000;

interface FarmStoreOptions {
  readonly shared: SharedStore;
  readonly local: Store;
  /** The claim that this server has on a scope. */
  readonly claimOf: (scope: string) => Claim | undefined;
  /** The records that all servers have in memory. */
  readonly records: FarmRecords;
  readonly freshness: Freshness;
}

export class FarmStore implements Store {
  readonly others: OtherServers;
  readonly patienceMs = PATIENCE_MS;
  readonly #options: FarmStoreOptions;

  constructor(options: FarmStoreOptions) {
    const { records, freshness } = options;
    this.#options = options;
    this.others = {
      keep: (at, takeOver) => (KEPT.includes(at[0] ?? '') ? records.keep(at, takeOver) : undefined),
      catchUp: () => freshness.catchUp(),
      checkHeard: () => {
        if (freshness.ageMs > LONGEST_SILENCE_MS) throw refusals.farmSilent();
      },
    };
  }

  /** Changes of this host are stored after those that all see, and again when the server dies in between. */
  async commit(changes: readonly Change[], requests?: number): Promise<void> {
    const shared = changes.filter(isShared);
    const local = changes.filter((change) => !isShared(change));
    if (shared.length > 0) {
      // The notes of the audit go along: they are on the disk of this host before all others see the change.
      await this.#options.local.commit([]);
      await this.#commitShared(shared, requests);
    }
    if (local.length > 0 || changes.length === 0) await this.#options.local.commit(local, requests);
  }

  /** The store for what came with a claim: changes of its scope are refused (503) when that claim is over. */
  boundTo(claim: Claim): Store {
    const { claimOf } = this.#options;
    return new FarmStore({
      ...this.#options,
      claimOf: (scope) => (scope === claim.scope ? claim : claimOf(scope)),
    });
  }

  async commitPacked(...parts: readonly Packed[]): Promise<void> {
    await this.commit(parts.flatMap(unpackChanges));
  }

  async load(...prefixes: readonly Key[]): Promise<StoredRecord[]> {
    const loaded = await Promise.all(prefixes.map((prefix) => this.#storeOf(prefix).load(prefix)));
    return loaded.flat();
  }

  async loadPacked(...prefixes: readonly Key[]): Promise<Packed> {
    const [store, ...others] = new Set(prefixes.map((prefix) => this.#storeOf(prefix)));
    if (store !== undefined && others.length === 0) return store.loadPacked(...prefixes);
    return packRecords(await this.load(...prefixes));
  }

  read(...prefixes: readonly Key[]): Promise<Reading> {
    return this.#storeOf(prefixes[0] ?? []).read(...prefixes);
  }

  follow(prefixes: readonly Key[], position: Position, follower: Follower): () => void {
    return this.#storeOf(prefixes[0] ?? []).follow(prefixes, position, follower);
  }

  claim(scope: string, ...prefixes: readonly Key[]): Promise<ClaimOutcome> {
    return this.#options.shared.claim(scope, ...prefixes);
  }

  async close(): Promise<void> {
    await this.#options.shared.close();
    await this.#options.local.close();
  }

  #storeOf([first = '']: Key): Store {
    return SHARED.has(first) ? this.#options.shared : this.#options.local;
  }

  async #commitShared(changes: readonly Change[], requests: number | undefined): Promise<void> {
    const { records } = this.#options;
    const kept = changes.filter((change) => KEPT.includes(keyOf(change)[0] ?? ''));
    try {
      await this.#claimed(changes).commit(changes, requests);
    } catch (error) {
      // By then, whoever waits for it has taken back what it has changed.
      if (kept.length > 0) setImmediate(records.refused.bind(records), kept);
      throw error;
    }
    records.committed(kept);
  }

  /** The store as the holder of the scope of these changes has it. Refuses (503) changes of what others have. */
  #claimed(changes: readonly Change[]): Store {
    const scopes = changes.map((change) => scopeOf(keyOf(change)));
    const scope = scopes.find((one) => one !== FARM_SCOPE) ?? FARM_SCOPE;
    const claim = this.#options.claimOf(scope);
    if (claim === undefined) throw refusals.claimLost(scope);
    return claim.store;
  }
}

function isShared(change: Change): boolean {
  return SHARED.has(keyOf(change)[0] ?? '');
}

/** The scope that records with this key are part of. */
export function scopeOf([first = '', id]: Key): string {
  return OF_FARM.includes(first) ? FARM_SCOPE : (id ?? FARM_SCOPE);
}

/** The paths that are read together with a claim. */
export function prefixesOf(scope: string): readonly Key[] {
  if (scope === FARM_SCOPE) return OF_FARM.map((first) => [first]);
  return ['head', ...ABOUT_PROJECTS].map((first) => [first, scope]);
}
