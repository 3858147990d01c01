/** The store of a farm: records in etcd, which several servers share. */
import { randomBytes } from 'node:crypto';
import { pack, unpack } from 'msgpackr';
import { refusals } from '../../errors/errors.js';
import { packChanges, packRecords, unpackRawChanges } from '../packing.js';
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
} from '../store.js';
import { CommitChain, told } from './commit-chain.js';
import type { EtcdAddress } from './etcd-address.js';
import { EtcdClient, type StoredCondition, type KeyValue } from './etcd-client.js';
import { followEtcd } from './etcd-follower.js';
import { EtcdKeys } from './etcd-keys.js';
import { EtcdReading } from './etcd-reading.js';
import { EtcdSession, type Life } from './etcd-session.js';
import { LargeCommits } from './large-commits.js';

const FORMAT = '1';
const CLOSE_MS = 5000;

interface EtcdStoreOptions extends EtcdAddress {
  /** The name of this server, which no other has, and which it has again after a restart. */
  readonly server: string;
  /** The chain of commits without a claim. Who opens it takes it from whoever has it; usually each server has its own. */
  readonly chain?: string;
  /** Called when another has taken the chain. */
  readonly onLost?: () => void;
}

/** The parts that all views of the same etcd have in common. */
interface Parts {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly large: LargeCommits;
  readonly reading: EtcdReading;
}

/** The records, as whoever holds a chain has them. */
abstract class ChainedStore implements Store {
  protected readonly parts: Parts;
  readonly #followings = new Set<AbortController>();
  /** Commits under way. */
  readonly #commits = new Set<Promise<void>>();

  constructor(parts: Parts) {
    this.parts = parts;
  }

  protected abstract chain(): Promise<CommitChain>;
  /** Rejects when what is there is of a format that this version does not know. */
  protected abstract known(): Promise<void>;
  abstract claim(scope: string, ...prefixes: readonly Key[]): Promise<ClaimOutcome>;

  async commit(changes: readonly Change[]): Promise<void> {
    await this.commitPacked(packChanges(changes));
  }

  async commitPacked(...parts: readonly Packed[]): Promise<void> {
    const changes = parts.flatMap(unpackRawChanges);
    const commit = this.chain().then((chain) => chain.commit(changes));
    this.#commits.add(commit);
    try {
      await commit;
    } finally {
      this.#commits.delete(commit);
    }
  }

  /** Waits for the commits that were given before. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#commits);
  }

  async load(...prefixes: readonly Key[]): Promise<StoredRecord[]> {
    return [...(await this.read(...prefixes)).records];
  }

  async loadPacked(...prefixes: readonly Key[]): Promise<Packed> {
    return packRecords(await this.load(...prefixes));
  }

  async read(...prefixes: readonly Key[]): Promise<Reading> {
    await this.settled();
    try {
      await this.known();
      const { records, revision } = await this.parts.reading.read(prefixes);
      return { records, position: String(revision) };
    } catch (error) {
      throw told(error);
    }
  }

  follow(prefixes: readonly Key[], position: Position, follower: Follower): () => void {
    const stop = new AbortController();
    this.#followings.add(stop);
    void followEtcd({ ...this.parts, prefixes, follower }, Number(position), stop.signal);
    return () => {
      this.#followings.delete(stop);
      stop.abort();
    };
  }

  close(): Promise<void> {
    for (const stop of this.#followings) stop.abort();
    return Promise.resolve();
  }
}

export class EtcdStore extends ChainedStore implements SharedStore {
  readonly #session: EtcdSession;
  readonly #server: string;
  readonly #chainName: string;
  readonly #onLost: () => void;
  readonly #claims = new Set<EtcdClaim>();
  #chain: Promise<CommitChain> | undefined;
  #isKnown = false;

  constructor(options: EtcdStoreOptions) {
    const { servers, prefix, access, server } = options;
    const client = new EtcdClient(servers, access);
    const keys = new EtcdKeys(prefix);
    const large = new LargeCommits(client, keys, server);
    super({ client, keys, large, reading: new EtcdReading(client, keys, large) });
    this.#session = new EtcdSession(client);
    this.#server = server;
    this.#chainName = options.chain ?? server;
    this.#onLost = options.onLost ?? (() => undefined);
  }

  async announce(key: Key, value: unknown): Promise<void> {
    try {
      await this.#session.announce(this.parts.keys.record(key), pack(value));
    } catch (error) {
      throw told(error);
    }
  }

  latest = async (): Promise<Position> => String(await this.parts.reading.lastCommit());

  async claim(scope: string, ...prefixes: readonly Key[]): Promise<ClaimOutcome> {
    try {
      await this.known();
      return await this.#claim(scope, prefixes);
    } catch (error) {
      throw told(error);
    }
  }

  override async close(): Promise<void> {
    await super.close();
    const chain = await this.#chain?.catch(() => undefined);
    const late = setTimeout(() => chain?.end(refusals.storeUnreachable()), CLOSE_MS);
    await Promise.all([this.settled(), ...[...this.#claims].map((claim) => claim.store.close())]);
    clearTimeout(late);
    chain?.end(refusals.storeUnreachable());
    await this.#session.close();
    this.parts.client.close();
  }

  protected async chain(): Promise<CommitChain> {
    const opening = (this.#chain ??= this.#open());
    try {
      return await opening;
    } catch (error) {
      if (this.#chain === opening) this.#chain = undefined;
      throw told(error);
    }
  }

  protected async known(): Promise<void> {
    const { client, keys } = this.parts;
    if (this.#isKnown) return;
    const { ranges } = await client.transaction(
      [{ key: keys.format, created: 0 }],
      [{ put: keys.format, value: Buffer.from(FORMAT) }],
      [{ range: { from: keys.format } }],
    );
    const format = ranges[0]?.records[0]?.value.toString() ?? FORMAT;
    if (format !== FORMAT) {
      throw new Error(`The store in etcd has format ${format}, this Wirefarm reads format ${FORMAT}`);
    }
    this.#isKnown = true;
  }

  async #open(): Promise<CommitChain> {
    await this.known();
    const { client, keys, large } = this.parts;
    const key = keys.unclaimedChain(this.#chainName);
    const { last, before } = await takenChain(client, key);
    await large.giveUpAll();
    const taken = { key, last, before, fence: undefined, scope: 'the store' };
    return new CommitChain({ ...this.parts, ...taken, onLost: this.#onLost });
  }

  async #claim(scope: string, prefixes: readonly Key[]): Promise<ClaimOutcome> {
    const { client, keys, reading } = this.parts;
    const owner = keys.owner(scope);
    const key = keys.chain(scope);
    for (;;) {
      const life = await this.#session.life();
      const seen = await client.transaction([], [{ range: { from: owner } }, { range: { from: key } }]);
      const [held, link] = seen.ranges.map(({ records: [record] }): KeyValue | undefined => record);
      if (held !== undefined) {
        const heldBy = unpack(held.value) as string;
        if (heldBy !== this.#server || this.#holds(scope, held)) return { heldBy };
        // An earlier life of this server had it: what it still may have sent is fenced off by the new claim.
        await client.transaction([{ key: owner, created: held.created }], [{ remove: { from: owner } }]);
        continue;
      }
      const nonce = newNonce();
      const before = lastOf(link);
      const claimed = client.transaction(
        [
          { key: owner, created: 0 },
          { key, modified: link?.modified ?? 0 },
        ],
        [
          { put: owner, value: pack(this.#server), lease: life.lease },
          { put: key, value: Buffer.from(`${nonce} ${before}`) },
          ...reading.operations(prefixes),
        ],
        [{ range: { from: key } }],
      );
      const answer = await claimed.catch((error: unknown) => {
        this.#session.ended(life, error);
      });
      if (answer === undefined) continue;
      const [made] = answer.succeeded ? [] : (answer.ranges[0]?.records ?? []);
      if (!answer.succeeded && lastOf(made) !== nonce) continue;
      const epoch = answer.succeeded ? answer.revision : (made?.modified ?? 0);
      const claim = this.#newClaim(scope, epoch, before, life);
      const moment = answer.succeeded
        ? await reading.complete(prefixes, answer.ranges, epoch)
        : await reading.read(prefixes);
      return { claim, reading: { records: moment.records, position: String(moment.revision) } };
    }
  }

  #holds(scope: string, { created }: KeyValue): boolean {
    return [...this.#claims].some((claim) => claim.scope === scope && claim.epoch === created);
  }

  #newClaim(scope: string, epoch: number, before: string, life: Life): EtcdClaim {
    const claim: EtcdClaim = new EtcdClaim(this, this.parts, { scope, epoch, before, life }, () => {
      this.#claims.delete(claim);
    });
    this.#claims.add(claim);
    return claim;
  }
}

interface ClaimOptions {
  readonly scope: string;
  readonly epoch: number;
  readonly before: string;
  readonly life: Life;
}

class EtcdClaim implements Claim {
  readonly scope: string;
  readonly epoch: number;
  readonly store: ClaimedStore;
  readonly #life: Life;
  readonly #lost = new AbortController();
  readonly #parts: Parts;
  readonly #chain: CommitChain;
  readonly #owner: StoredCondition;
  readonly #ended: () => void;
  #released: Promise<void> | undefined;

  constructor(
    store: EtcdStore,
    parts: Parts,
    { scope, epoch, before, life }: ClaimOptions,
    ended: () => void,
  ) {
    this.scope = scope;
    this.epoch = epoch;
    this.#parts = parts;
    this.#life = life;
    this.#ended = ended;
    this.#owner = { key: parts.keys.owner(scope), created: epoch };
    const key = parts.keys.chain(scope);
    const onLost = (): void => {
      this.#lose();
    };
    this.#chain = new CommitChain({ ...parts, key, last: epoch, before, fence: this.#owner, scope, onLost });
    this.store = new ClaimedStore(parts, this.#chain, this, store);
    if (life.lost.aborted) this.#lose();
    else life.lost.addEventListener('abort', onLost, { once: true, signal: this.#lost.signal });
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  isFresh(): boolean {
    return !this.lost.aborted && this.#released === undefined && this.#life.isFresh();
  }

  release(): Promise<void> {
    return (this.#released ??= this.#release());
  }

  async #release(): Promise<void> {
    const late = setTimeout(() => {
      this.#chain.end(refusals.claimLost(this.scope));
    }, CLOSE_MS);
    await this.store.settled();
    clearTimeout(late);
    this.#chain.end(refusals.claimLost(this.scope));
    this.#ended();
    const { client, keys } = this.#parts;
    const removed = [{ from: this.#owner.key }, { from: keys.chain(this.scope) }];
    // When etcd cannot be reached, others have it when the lease ends.
    await client
      .transaction(
        [this.#owner],
        removed.map((remove) => ({ remove })),
      )
      .catch(() => undefined);
  }

  #lose(): void {
    this.#chain.end(refusals.claimLost(this.scope));
    this.#ended();
    this.#lost.abort();
  }
}

class ClaimedStore extends ChainedStore {
  readonly #chain: CommitChain;
  readonly #claim: Claim;
  readonly #whole: Store;

  constructor(parts: Parts, chain: CommitChain, claim: Claim, whole: Store) {
    super(parts);
    this.#chain = chain;
    this.#claim = claim;
    this.#whole = whole;
  }

  claim(scope: string, ...prefixes: readonly Key[]): Promise<ClaimOutcome> {
    return this.#whole.claim(scope, ...prefixes);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#claim.release();
  }

  protected chain(): Promise<CommitChain> {
    return Promise.resolve(this.#chain);
  }

  protected known(): Promise<void> {
    return Promise.resolve();
  }
}

const newNonce = (): string => randomBytes(12).toString('hex');

/** The random number of a link. */
function lastOf(link: KeyValue | undefined): string {
  return link?.value.toString().split(' ')[0] ?? '';
}

/** Takes a chain over from whoever has it. */
async function takenChain(client: EtcdClient, key: string): Promise<{ last: number; before: string }> {
  const nonce = newNonce();
  let known = 0;
  let before = '';
  for (;;) {
    const { succeeded, revision, ranges } = await client.transaction(
      [{ key, modified: known }],
      [{ put: key, value: Buffer.from(`${nonce} ${before}`) }],
      [{ range: { from: key } }],
    );
    if (succeeded) return { last: revision, before };
    const [link] = ranges[0]?.records ?? [];
    if (lastOf(link) === nonce) return { last: link?.modified ?? 0, before };
    known = link?.modified ?? 0;
    before = lastOf(link);
  }
}
