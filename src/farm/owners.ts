/**
 * The owners of scopes. A scope that nobody has is claimed by the server that ranks first among those that live: when
 * somebody asks for it, and at once when its owner goes and it should always have one. The next in rank follows a second
 * later. An owner that may have lost its claim without knowing asks the store before it answers.
 */
import type { Logger } from 'pino';
import { refusals } from '../base/errors/errors.js';
import type { Change, Claim, Key, Reading, Store, StoredRecord } from '../base/store/store.js';
import { within, type FarmClock } from './farm-clock.js';
import { keyOf, type RecordListener } from './followed-records.js';
import { OwnerTable } from './owner-table.js';
import type { ServerRecord } from './servers.js';

const OWNER = 'owner';
const RANK_MS = 1000;
/** A wait for the word of the store, and one for a store that had none the last time. */
const PATIENCE_MS = 2000;
const SILENT_PATIENCE_MS = 100;

/** A server that answers for a scope. */
export type Ownership =
  | {
      readonly at: 'here';
      readonly claim: Claim;
      /** Set when the store does not answer: so many milliseconds ago it was known that nobody else has the scope. */
      readonly staleMs: number | undefined;
    }
  | { readonly at: 'server'; readonly id: string; readonly address: string; readonly life: string }
  | { readonly at: 'nobody' };

interface OwnersOptions {
  readonly store: Pick<Store, 'claim' | 'load'>;
  /** The name of this server. */
  readonly own: string;
  readonly servers: { readonly live: ReadonlyMap<string, ServerRecord> };
  readonly clock: FarmClock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** The paths that are read in the moment of a claim. */
  readonly prefixes: (scope: string) => readonly Key[];
  /** Whether a scope should have an owner although nobody asks for it. */
  readonly isWanted: (scope: string) => boolean;
  /** The server that should have the scope before all others, if it lives. */
  readonly homeOf: (scope: string) => string | undefined;
  /** Called before anybody is told of the claim. */
  readonly claimed: (claim: Claim, reading: Reading) => void;
  /** Called when the claim is over, whatever the reason. */
  readonly ended: (claim: Claim) => void;
}

interface Held {
  readonly claim: Claim;
  /** When it was last known that nobody else has the scope. */
  sureAt: number;
}

export class Owners implements RecordListener {
  readonly #options: OwnersOptions;
  /** The servers that have scopes, as far as the store has told. */
  readonly #owners = new OwnerTable();
  readonly #held = new Map<string, Held>();
  readonly #releasing = new Map<string, Promise<void>>();
  readonly #claiming = new Map<string, Promise<Ownership>>();
  /** Scopes that this server is going to claim, with what calls that off. */
  readonly #waiting = new Map<string, () => void>();
  /** Set when the store had no word the last time. */
  #isSilent = false;
  /** A question to the store that is under way. */
  #asking: Promise<unknown> | undefined;
  #isClosed = false;

  constructor(options: OwnersOptions) {
    this.#options = options;
  }

  /** The claim of this server on a scope. */
  claimOf(scope: string): Claim | undefined {
    return this.#held.get(scope)?.claim;
  }

  /** The server that has the scope as far as this one knows; nothing is asked or claimed. */
  known(scope: string): Ownership {
    const held = this.#held.get(scope);
    if (held !== undefined) return this.#here(held, undefined);
    const id = this.#owners.get(scope);
    return id === undefined ? { at: 'nobody' } : this.#elsewhere(id);
  }

  /**
   * Finds the server that answers for the scope, which may have nobody until now. A request that another server has
   * forwarded is forwarded no further: this server claims the scope then, whatever its rank.
   */
  async find(scope: string, wasForwarded: boolean): Promise<Ownership> {
    const held = this.#held.get(scope);
    if (held !== undefined) return this.#checked(scope, held);
    const known = this.known(scope);
    if (known.at === 'server') return known;
    const { own } = this.#options;
    const first = this.#ranked(scope)[0] ?? own;
    return first === own || wasForwarded ? this.#claim(scope) : this.#elsewhere(first);
  }

  /** Sees to it that a scope has an owner: to be called when it is wanted from now on. */
  watch(scope: string): void {
    if (this.#isClosed || this.#waiting.has(scope) || !this.#isFree(scope)) return;
    const { own, clock } = this.#options;
    const ranked = this.#ranked(scope);
    this.#owners.expect(scope, ranked[0] ?? own);
    this.#claimAfter(scope, clock, ranked.indexOf(own) * RANK_MS);
  }

  /** Lets others have the scope. */
  async release(scope: string): Promise<void> {
    const held = this.#held.get(scope);
    if (held === undefined) return;
    this.#end(held);
    const released = held.claim.release().finally(() => this.#releasing.delete(scope));
    this.#releasing.set(scope, released);
    await released;
  }

  /** Lets others have everything. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const callOff of this.#waiting.values()) callOff();
    this.#waiting.clear();
    await Promise.allSettled(this.#claiming.values());
    await Promise.all([...this.#held.keys()].map((scope) => this.release(scope)));
  }

  replaced(records: readonly StoredRecord[]): void {
    const before = this.#owners.scopes;
    this.#owners.clear();
    for (const { key, value } of records) this.#set(key[1] ?? '', value);
    for (const scope of before) this.#look(scope);
  }

  changed(changes: readonly Change[]): void {
    for (const change of changes) {
      const scope = keyOf(change)[1];
      if (scope === undefined) continue;
      if ('put' in change) this.#set(scope, change.value);
      else this.#owners.delete(scope);
      this.#look(scope);
    }
  }

  #set(scope: string, value: unknown): void {
    if (typeof value === 'string') this.#owners.set(scope, value);
  }

  /** A scope whose owner is gone gets another, if it should have one. */
  #look(scope: string): void {
    if (this.#isFree(scope) && this.#options.isWanted(scope)) this.watch(scope);
  }

  /** The servers that may take the scope, the first of them first. */
  #ranked(scope: string): string[] {
    const { own, servers, homeOf } = this.#options;
    const staying = [...servers.live].flatMap(([id, { isLeaving }]) => (isLeaving === true ? [] : [id]));
    return this.#owners.ranked(scope, new Set([...staying, own]), homeOf(scope));
  }

  #isFree(scope: string): boolean {
    return !this.#held.has(scope) && !this.#claiming.has(scope) && this.known(scope).at === 'nobody';
  }

  #claimAfter(scope: string, clock: FarmClock, milliseconds: number): void {
    const callOff = clock.after(milliseconds, () => {
      this.#waiting.delete(scope);
      if (this.#isClosed || !this.#isFree(scope) || !this.#options.isWanted(scope)) return;
      this.#claim(scope).catch(() => {
        if (!this.#waiting.has(scope)) this.#claimAfter(scope, clock, RANK_MS);
      });
    });
    this.#waiting.set(scope, callOff);
  }

  #claim(scope: string): Promise<Ownership> {
    const running = this.#claiming.get(scope);
    if (running !== undefined) return running;
    const claiming = this.#claimNow(scope).finally(() => this.#claiming.delete(scope));
    this.#claiming.set(scope, claiming);
    return claiming;
  }

  async #claimNow(scope: string): Promise<Ownership> {
    const { store, prefixes, clock, log } = this.#options;
    if (this.#isClosed) throw refusals.claimLost(scope);
    await this.#releasing.get(scope);
    const sureAt = clock.now();
    const outcome = await store.claim(scope, ...prefixes(scope));
    if ('heldBy' in outcome) {
      this.#owners.set(scope, outcome.heldBy);
      return this.#elsewhere(outcome.heldBy);
    }
    const { claim, reading } = outcome;
    if (claim.lost.aborted) throw refusals.claimLost(scope);
    const held = { claim, sureAt };
    this.#held.set(scope, held);
    this.#owners.set(scope, this.#options.own);
    claim.lost.addEventListener('abort', () => {
      log.warn({ scope, epoch: claim.epoch }, 'the claim of a scope is lost');
      this.#end(held);
      this.#look(scope);
    });
    log.info({ scope, epoch: claim.epoch }, 'a scope is claimed');
    this.#options.claimed(claim, reading);
    return this.#here(held, undefined);
  }

  #end(held: Held): void {
    const { scope } = held.claim;
    if (this.#held.get(scope) !== held) return;
    this.#held.delete(scope);
    if (this.#owners.get(scope) === this.#options.own) this.#owners.delete(scope);
    this.#options.ended(held.claim);
  }

  /** The scope is here, unless the store says that it is not, which is asked when that might be. */
  async #checked(scope: string, held: Held): Promise<Ownership> {
    const { own, clock } = this.#options;
    const now = clock.now();
    if (held.claim.isFresh()) {
      held.sureAt = now;
      return this.#here(held, undefined);
    }
    const records = await this.#wordOn(scope);
    if (records === undefined) {
      if (this.#held.get(scope) !== held) return { at: 'nobody' };
      return this.#here(held, clock.now() - held.sureAt);
    }
    if (this.#held.get(scope) !== held) return this.known(scope);
    const id = records[0]?.value;
    if (id === own) {
      held.sureAt = now;
      return this.#here(held, undefined);
    }
    this.#end(held);
    if (typeof id !== 'string') return { at: 'nobody' };
    this.#owners.set(scope, id);
    return this.#elsewhere(id);
  }

  /** The owner's record, asked for after this was called; undefined when the store has no word for a while. */
  async #wordOn(scope: string): Promise<readonly StoredRecord[] | undefined> {
    const { store, clock } = this.#options;
    const isSilent = (): boolean => this.#isSilent;
    // A store that is silent is waited for a moment only, and no question is added to one that is under way.
    if (isSilent() && this.#asking !== undefined) {
      const word = await within(clock, SILENT_PATIENCE_MS, this.#asking);
      if (word === undefined) return undefined;
    }
    const asked = store.load([OWNER, scope]);
    const asking = asked.then(
      () => true,
      () => undefined,
    );
    this.#asking = asking;
    void asking.then(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    const records = await within(clock, isSilent() ? SILENT_PATIENCE_MS : PATIENCE_MS, asked);
    this.#isSilent = records === undefined;
    return records;
  }

  #here({ claim }: Held, staleMs: number | undefined): Ownership {
    return { at: 'here', claim, staleMs };
  }

  /** The server of this name; nobody, when it is gone, or an earlier life of this one. */
  #elsewhere(id: string): Ownership {
    const record = this.#options.servers.live.get(id);
    if (record === undefined || id === this.#options.own) return { at: 'nobody' };
    return { at: 'server', id, address: record.address, life: record.life };
  }
}
