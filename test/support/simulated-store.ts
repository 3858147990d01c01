/** The store of one server on a simulated etcd: what the driver over a real one does, in simulated time. */
import { refusals } from '../../src/base/errors/errors.js';
import { packChanges, packRecords, unpackChanges } from '../../src/base/store/packing.js';
import type {
  Change,
  Claim,
  ClaimOutcome,
  Follower,
  Key,
  Packed,
  Position,
  Reading,
  SharedStore,
  Store,
  StoredRecord,
} from '../../src/base/store/store.js';
import { isBelow, NoAnswer, type SimulatedEtcd } from './simulated-etcd.js';
import type { SimulatedMachine } from './simulated-time.js';

const LEASE_SECONDS = 10;
const KEEP_ALIVE_MS = 3000;
const FRESH_MS = 7000;
const PAUSE_MS = 100;
const LONGEST_KEY = 4096;

/** Mistakes that can be planted. */
export interface StoreMistakes {
  /** Commits are applied whoever has the scope. */
  readonly isUnfenced?: boolean;
  /** Each so many-th commit is not told to followers. */
  readonly missedCommit?: number;
}

interface Parts {
  readonly etcd: SimulatedEtcd;
  readonly machine: SimulatedMachine;
  /** The name of this server. */
  readonly server: string;
  readonly mistakes: StoreMistakes;
}

interface Waiting {
  readonly changes: readonly Change[];
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** The fence of a scope. */
interface Fence {
  readonly scope: string;
  readonly epoch: number;
  readonly onLost: () => void;
}

let linkCount = 0;

/** Commits one after the other, each on condition that the one before was the last. */
class SimulatedChain {
  readonly #parts: Parts;
  readonly #key: Key;
  readonly #fence: Fence | undefined;
  #last: number;
  readonly #queue: Waiting[] = [];
  #running: Promise<void> | undefined;
  #ended: Error | undefined;

  constructor(parts: Parts, name: string, last: number, fence: Fence | undefined) {
    this.#parts = parts;
    this.#key = ['@chain', name];
    this.#last = last;
    this.#fence = fence;
  }

  commit(changes: readonly Change[]): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(this.#ended);
        return;
      }
      this.#queue.push({ changes, resolve, reject });
      this.#running ??= this.#run().finally(() => (this.#running = undefined));
    });
  }

  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  end(reason: Error): void {
    this.#ended ??= reason;
    for (const { reject } of this.#queue.splice(0)) reject(this.#ended);
  }

  async #run(): Promise<void> {
    // Changes that come together are committed together.
    await Promise.resolve();
    for (let group = this.#queue.splice(0, 64); group.length > 0; group = this.#queue.splice(0, 64)) {
      try {
        await this.#apply(group.flatMap(({ changes }) => changes));
        for (const { resolve } of group) resolve();
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
  }

  async #apply(changes: readonly Change[]): Promise<void> {
    const { etcd, machine } = this.#parts;
    const id = ++linkCount;
    // A message that comes late still has the conditions of its time.
    const last = this.#last;
    for (;;) {
      try {
        const { isThere, modified } = await etcd.ask(machine, () => this.#attempt(id, last, changes));
        if (isThere) {
          this.#last = modified;
          return;
        }
        this.end(refusals.claimLost(this.#fence?.scope ?? 'the store'));
        this.#fence?.onLost();
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
      }
      if (this.#ended !== undefined) throw this.#ended;
      await new Promise<void>((resolve) => void machine.after(PAUSE_MS, resolve));
    }
  }

  /** A commit that was applied before is there, and is not applied again. */
  #attempt(id: number, last: number, changes: readonly Change[]): { isThere: boolean; modified: number } {
    const { etcd, mistakes } = this.#parts;
    const isLast = { key: this.#key, modified: last };
    const fence = this.#fence;
    const conditions =
      fence === undefined ? [isLast] : [isLast, { key: ownerKey(fence.scope), created: fence.epoch }];
    if (mistakes.isUnfenced === true) conditions.length = 0;
    etcd.transaction(conditions, [...changes, { put: this.#key, value: id }]);
    const link = etcd.entry(this.#key);
    return { isThere: link?.value === id, modified: link?.modified ?? 0 };
  }
}

const ownerKey = (scope: string): Key => ['owner', scope];

abstract class ChainedStore implements Store {
  protected readonly parts: Parts;
  readonly #followings = new Set<() => void>();

  constructor(parts: Parts) {
    this.parts = parts;
  }

  protected abstract readonly chain: SimulatedChain;
  abstract claim(scope: string, ...prefixes: readonly Key[]): Promise<ClaimOutcome>;

  async commit(changes: readonly Change[]): Promise<void> {
    await this.commitPacked(packChanges(changes));
  }

  async commitPacked(...packed: readonly Packed[]): Promise<void> {
    const changes = packed.flatMap(unpackChanges);
    for (const change of changes) {
      const key = 'put' in change ? change.put : 'remove' in change ? change.remove : change.clear;
      if (key.join('/').length > LONGEST_KEY) throw new Error('the key is too long');
    }
    if (changes.length > 0) await this.chain.commit(changes);
  }

  async load(...prefixes: readonly Key[]): Promise<StoredRecord[]> {
    return [...(await this.read(...prefixes)).records];
  }

  async loadPacked(...prefixes: readonly Key[]): Promise<Packed> {
    return packRecords(await this.load(...prefixes));
  }

  async read(...prefixes: readonly Key[]): Promise<Reading> {
    const { etcd, machine } = this.parts;
    await this.chain.settled();
    try {
      return await etcd.ask(machine, () => ({
        records: etcd.range(prefixes),
        position: String(etcd.revision),
      }));
    } catch (error) {
      throw refusals.storeUnreachable(error);
    }
  }

  follow(prefixes: readonly Key[], position: Position, follower: Follower): () => void {
    const { etcd, machine, mistakes } = this.parts;
    let told = Number(position);
    const stop = etcd.watch(machine, (last) => {
      const commits = etcd.commits(told, last);
      if (commits === undefined && last > told) {
        end();
        follower.gone();
      }
      for (const { revision, changes } of commits ?? []) {
        told = revision;
        if (mistakes.missedCommit !== undefined && revision % mistakes.missedCommit === 0) continue;
        const below = changesBelow(changes, prefixes);
        if (below.length > 0) follower.committed(below, String(revision));
        follower.passed?.(String(revision));
      }
    });
    const end = (): void => {
      stop();
      this.#followings.delete(end);
    };
    this.#followings.add(end);
    return end;
  }

  async close(): Promise<void> {
    for (const end of this.#followings) end();
    await this.chain.settled();
  }
}

function changesBelow(changes: readonly Change[], prefixes: readonly Key[]): Change[] {
  return changes.flatMap((change): Change[] => {
    const key = 'put' in change ? change.put : 'remove' in change ? change.remove : change.clear;
    if (prefixes.some((prefix) => isBelow(key, prefix))) return [change];
    if (!('clear' in change)) return [];
    return prefixes.filter((prefix) => isBelow(prefix, key)).map((clear) => ({ clear }));
  });
}

/** One lease. */
interface Life {
  readonly id: number;
  readonly lost: AbortController;
  sentAt: number;
}

export class SimulatedStore extends ChainedStore implements SharedStore {
  protected readonly chain: SimulatedChain;
  readonly #announced = new Map<string, { key: Key; value: unknown }>();
  readonly #claims = new Set<SimulatedClaim>();
  #life: Promise<Life> | undefined;
  #isClosed = false;

  /** A server that comes back has its name again, and no two have one at a time. */
  constructor(etcd: SimulatedEtcd, machine: SimulatedMachine, server: string, mistakes: StoreMistakes = {}) {
    const parts = { etcd, machine, server, mistakes };
    super(parts);
    const life = ++linkCount;
    // A life of a server has a chain of its own: nobody takes it over.
    this.chain = new SimulatedChain(parts, `@${server}:${life}`, 0, undefined);
  }

  async announce(key: Key, value: unknown): Promise<void> {
    this.#announced.set(JSON.stringify(key), { key, value });
    const { id } = await this.#alive();
    await this.#ask(() => this.parts.etcd.transaction([], [{ put: key, value }], id));
  }

  latest(): Promise<Position> {
    return this.#ask(() => String(this.parts.etcd.revision));
  }

  async claim(scope: string, ...prefixes: readonly Key[]): Promise<ClaimOutcome> {
    const { etcd, machine, server } = this.parts;
    await this.chain.settled();
    const life = await this.#alive();
    const nonce = ++linkCount;
    const chain = ['@chain', scope];
    const owner = ownerKey(scope);
    const seen = await this.#ask(() => ({
      owner: etcd.entry(owner),
      link: etcd.entry(chain)?.modified ?? 0,
    }));
    if (seen.owner !== undefined) {
      const { value, created } = seen.owner;
      if (value !== server || this.#holds(scope, created)) return { heldBy: value as string };
      // An earlier life of this server had it.
      await this.#ask(() => etcd.transaction([{ key: owner, created }], [{ remove: owner }]));
      return this.claim(scope, ...prefixes);
    }
    const free = [
      { key: owner, created: 0 },
      { key: chain, modified: seen.link },
    ];
    const puts = [
      { put: owner, value: server },
      { put: chain, value: nonce },
    ];
    // Applied twice, it finds what it did the first time.
    const answer = await this.#ask(() => {
      etcd.transaction(free, puts, life.id);
      if (etcd.entry(chain)?.value !== nonce) return undefined;
      const epoch = etcd.entry(chain)?.modified ?? 0;
      return { epoch, records: etcd.range(prefixes), position: String(etcd.revision) };
    });
    if (answer === undefined) throw refusals.storeUnreachable();
    const { epoch, ...reading } = answer;
    const claim: SimulatedClaim = new SimulatedClaim(this, this.parts, { scope, epoch, life, machine }, () =>
      this.#claims.delete(claim),
    );
    this.#claims.add(claim);
    return { claim, reading };
  }

  /** Ends in order: what was claimed is free at once. */
  override async close(): Promise<void> {
    await super.close();
    await Promise.all([...this.#claims].map((claim) => claim.release()));
    this.#isClosed = true;
    const life = await this.#life?.catch(() => undefined);
    if (life === undefined) return;
    await this.#ask(() => {
      this.parts.etcd.revoke(life.id);
    }).catch(() => undefined);
  }

  #holds(scope: string, epoch: number): boolean {
    return [...this.#claims].some((claim) => claim.scope === scope && claim.epoch === epoch);
  }

  async #ask<Answer>(work: () => Answer): Promise<Answer> {
    try {
      return await this.parts.etcd.ask(this.parts.machine, work);
    } catch (error) {
      throw refusals.storeUnreachable(error);
    }
  }

  async #alive(): Promise<Life> {
    const life = (this.#life ??= this.#begin());
    try {
      return await life;
    } catch (error) {
      if (this.#life === life) this.#life = undefined;
      throw error;
    }
  }

  async #begin(): Promise<Life> {
    const sentAt = this.parts.machine.now();
    const id = await this.#ask(() => this.parts.etcd.grant(LEASE_SECONDS));
    const life = { id, sentAt, lost: new AbortController() };
    this.#keep(life);
    return life;
  }

  #keep(life: Life): void {
    const { etcd, machine } = this.parts;
    machine.after(KEEP_ALIVE_MS, () => {
      if (this.#isClosed || life.lost.signal.aborted) return;
      const sentAt = machine.now();
      etcd
        .ask(machine, () => etcd.keepAlive(life.id))
        .then(
          (isThere) => {
            if (isThere) life.sentAt = sentAt;
            else this.#lose(life);
            this.#keep(life);
          },
          () => {
            // Nobody knows whether it has ended.
            this.#keep(life);
          },
        );
    });
  }

  #lose(life: Life): void {
    if (life.lost.signal.aborted) return;
    this.#life = undefined;
    life.lost.abort();
    this.#announceAgain();
  }

  #announceAgain(): void {
    if (this.#isClosed) return;
    Promise.all([...this.#announced.values()].map(({ key, value }) => this.announce(key, value))).catch(
      () => {
        this.parts.machine.after(PAUSE_MS, () => {
          this.#announceAgain();
        });
      },
    );
  }
}

interface ClaimOptions {
  readonly scope: string;
  readonly epoch: number;
  readonly life: Life;
  readonly machine: SimulatedMachine;
}

class SimulatedClaim implements Claim {
  readonly scope: string;
  readonly epoch: number;
  readonly store: ClaimedStore;
  readonly #options: ClaimOptions;
  readonly #parts: Parts;
  readonly #chain: SimulatedChain;
  readonly #lost = new AbortController();
  readonly #ended: () => void;
  #isReleased = false;

  constructor(whole: Store, parts: Parts, options: ClaimOptions, ended: () => void) {
    const { scope, epoch, life } = options;
    this.scope = scope;
    this.epoch = epoch;
    this.#options = options;
    this.#parts = parts;
    this.#ended = ended;
    const onLost = (): void => {
      this.#lose();
    };
    this.#chain = new SimulatedChain(parts, scope, epoch, { scope, epoch, onLost });
    this.store = new ClaimedStore(parts, this.#chain, whole);
    if (life.lost.signal.aborted) this.#lose();
    else life.lost.signal.addEventListener('abort', onLost, { once: true });
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  isFresh(): boolean {
    const { life, machine } = this.#options;
    return !this.lost.aborted && !this.#isReleased && machine.now() - life.sentAt < FRESH_MS;
  }

  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    await this.#chain.settled();
    this.#chain.end(refusals.claimLost(this.scope));
    this.#ended();
    const { etcd, machine } = this.#parts;
    const owner = ownerKey(this.scope);
    await etcd
      .ask(machine, () => etcd.transaction([{ key: owner, created: this.epoch }], [{ remove: owner }]))
      .catch(() => undefined);
  }

  #lose(): void {
    this.#chain.end(refusals.claimLost(this.scope));
    this.#ended();
    this.#lost.abort();
  }
}

class ClaimedStore extends ChainedStore {
  protected readonly chain: SimulatedChain;
  readonly #whole: Store;

  constructor(parts: Parts, chain: SimulatedChain, whole: Store) {
    super(parts);
    this.chain = chain;
    this.#whole = whole;
  }

  claim(scope: string, ...prefixes: readonly Key[]): Promise<ClaimOutcome> {
    return this.#whole.claim(scope, ...prefixes);
  }
}
