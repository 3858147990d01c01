/** A cluster of etcd in memory: revisions, transactions, leases that end by simulated time, watches, compaction. */
import type { Change, Key, StoredRecord } from '../../src/base/store/store.js';
import type { Random } from './random.js';
import type { SimulatedMachine, SimulatedTime } from './simulated-time.js';

interface Entry {
  readonly key: Key;
  readonly value: unknown;
  readonly created: number;
  readonly modified: number;
  readonly lease: number | undefined;
}

export interface Commit {
  readonly revision: number;
  readonly changes: readonly Change[];
}

type Condition =
  | { readonly key: Key; readonly created: number }
  | { readonly key: Key; readonly modified: number };

/** There was no answer in time: it may have been done or not. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** In simulated time. */
const ANSWER_MS = 2000;
const RECONNECT_MS = 200;

interface Watch {
  readonly machine: SimulatedMachine;
  readonly tell: (last: number) => void;
}

/** The chances of messages. */
export interface NetworkFaults {
  readonly lost: number;
  readonly repeated: number;
  readonly late: number;
}

export class SimulatedEtcd {
  readonly time: SimulatedTime;
  readonly #random: Random | undefined;
  readonly #faults: NetworkFaults;
  readonly #entries = new Map<string, Entry>();
  readonly #leases = new Map<number, { seconds: number; ends: number }>();
  readonly #watches = new Set<Watch>();
  readonly #history: Commit[] = [];
  #revision = 1;
  #leaseCount = 0;
  /** All commits after this revision are kept. */
  #kept = 1;

  /** Without chances, messages take no time and none is lost. */
  constructor(time: SimulatedTime, chances?: { readonly random: Random; readonly faults: NetworkFaults }) {
    this.time = time;
    this.#random = chances?.random;
    this.#faults = chances?.faults ?? { lost: 0, repeated: 0, late: 0 };
  }

  get revision(): number {
    return this.#revision;
  }

  /** Something that a machine asks. Rejects with `NoAnswer` when none comes. */
  ask<Answer>(machine: SimulatedMachine, work: () => Answer): Promise<Answer> {
    const random = this.#random;
    if (random === undefined)
      return machine.isCut ? Promise.reject(new NoAnswer()) : Promise.resolve().then(work);
    return new Promise((resolve, reject) => {
      const callOff = machine.after(ANSWER_MS, () => {
        reject(new NoAnswer());
      });
      const answer = (): void => {
        if (machine.isCut) return;
        const result = work();
        if (random.chance(this.#faults.lost)) return;
        this.time.after(this.delay(random), () => {
          if (machine.isCut) return;
          machine.do(() => {
            callOff();
            resolve(result);
          });
        });
      };
      if (machine.isCut) return;
      if (!random.chance(this.#faults.lost)) this.time.after(this.delay(random), answer);
      if (random.chance(this.#faults.repeated)) this.time.after(this.delay(random) * 3, answer);
    });
  }

  /** Calls `tell` with the last revision whenever there is another, until what is returned is called. */
  watch(machine: SimulatedMachine, tell: (last: number) => void): () => void {
    const watch = { machine, tell };
    this.#watches.add(watch);
    this.#send(watch);
    return () => this.#watches.delete(watch);
  }

  /** The commits after one revision and up to another; undefined when not all of them are kept. */
  commits(after: number, last: number): readonly Commit[] | undefined {
    if (after < this.#kept) return undefined;
    const first = this.#history.findIndex(({ revision }) => revision > after);
    return first < 0 ? [] : this.#history.slice(first).filter(({ revision }) => revision <= last);
  }

  /** Forgets what commits have changed. */
  compact(): void {
    this.#kept = this.#revision;
    this.#history.length = 0;
  }

  /** Applies the changes in their order, if the conditions hold. */
  transaction(conditions: readonly Condition[], changes: readonly Change[], lease?: number): boolean {
    if (lease !== undefined && !this.#leases.has(lease)) return false;
    if (!conditions.every((condition) => this.#holds(condition))) return false;
    this.#revision++;
    for (const change of changes) this.#apply(change, lease);
    this.#told(changes);
    return true;
  }

  entry(key: Key): Entry | undefined {
    return this.#entries.get(textOf(key));
  }

  /** The records below the prefixes, prefix by prefix. */
  range(prefixes: readonly Key[]): StoredRecord[] {
    const entries = [...this.#entries.values()];
    return prefixes.flatMap((prefix) =>
      entries
        .filter(({ key }) => isBelow(key, prefix))
        .sort((a, b) => compare(a.key, b.key))
        .map(({ key, value }) => ({ key, value })),
    );
  }

  grant(seconds: number): number {
    const id = ++this.#leaseCount;
    this.#leases.set(id, { seconds, ends: 0 });
    this.keepAlive(id);
    return id;
  }

  /** Whether the lease was there. */
  keepAlive(id: number): boolean {
    const lease = this.#leases.get(id);
    if (lease === undefined) return false;
    lease.ends = this.time.now() + lease.seconds * 1000;
    this.time.after(lease.seconds * 1000, () => {
      if (this.#leases.get(id) === lease && lease.ends <= this.time.now()) this.revoke(id);
    });
    return true;
  }

  revoke(id: number): void {
    this.#leases.delete(id);
    const ended = [...this.#entries.values()].filter(({ lease }) => lease === id);
    if (ended.length === 0) return;
    this.#revision++;
    const changes = ended.map(({ key }) => ({ remove: key }));
    for (const change of changes) this.#apply(change, undefined);
    this.#told(changes);
  }

  /** How long a message is under way. */
  delay(random: Random): number {
    if (random.chance(this.#faults.late)) return 50 + random.below(4000);
    return 1 + random.below(5);
  }

  #holds(condition: Condition): boolean {
    const entry = this.entry(condition.key);
    return 'created' in condition
      ? (entry?.created ?? 0) === condition.created
      : (entry?.modified ?? 0) === condition.modified;
  }

  #apply(change: Change, lease: number | undefined): void {
    if ('put' in change) {
      const created = this.entry(change.put)?.created ?? this.#revision;
      const entry = { key: change.put, value: change.value, created, modified: this.#revision, lease };
      this.#entries.set(textOf(change.put), entry);
    } else if ('remove' in change) {
      this.#entries.delete(textOf(change.remove));
    } else {
      for (const [text, { key }] of this.#entries) if (isBelow(key, change.clear)) this.#entries.delete(text);
    }
  }

  #told(changes: readonly Change[]): void {
    this.#history.push({ revision: this.#revision, changes });
    for (const watch of this.#watches) this.#send(watch);
  }

  #send(watch: Watch): void {
    const { machine, tell } = watch;
    const last = this.#revision;
    const arrive = (): void => {
      if (!this.#watches.has(watch) || machine.isDead) return;
      // A broken connection is made again.
      if (machine.isCut) this.time.after(RECONNECT_MS, arrive);
      else
        machine.do(() => {
          if (this.#watches.has(watch)) tell(last);
        });
    };
    if (this.#random === undefined) queueMicrotask(arrive);
    else this.time.after(this.delay(this.#random), arrive);
  }
}

const textOf = (key: Key): string => key.join('\0');

export const isBelow = (key: Key, prefix: Key): boolean => prefix.every((part, index) => key[index] === part);

function compare(a: Key, b: Key): number {
  for (let index = 0; index < a.length && index < b.length; index++) {
    const [one = '', other = ''] = [a[index], b[index]];
    if (one !== other) return one < other ? -1 : 1;
  }
  return a.length - b.length;
}
