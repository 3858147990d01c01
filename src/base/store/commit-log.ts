/** The last commits of a store, for those who follow them. */
import type { Change, Follower, Key, Position } from './store.js';

/** A follower that falls behind by more has to read again. */
const MOST_COMMITS = 256;
const MOST_BYTES = 1024 * 1024;

interface KeptCommit {
  readonly number: number;
  readonly bytes: number;
  readonly changes: () => readonly Change[];
}

interface Following {
  readonly prefixes: readonly Key[];
  readonly follower: Follower;
  /** The number of the last commit that it was told. */
  told: number;
}

export class CommitLog {
  /** Tells the positions of this log from those of others. */
  readonly #name: string;
  readonly #kept: KeptCommit[] = [];
  readonly #followings = new Set<Following>();
  #bytes = 0;
  /** The numbers of all kept commits are greater. */
  #before = 0;
  #last = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** The moment after the commit of this number. */
  position(number: number): Position {
    return `${this.#name}:${number}`;
  }

  /** Adds a commit; one that is known already is left out. `changes` is called when somebody follows, and may be called again. */
  add(number: number, bytes: number, changes: () => readonly Change[]): void {
    if (number <= this.#last) return;
    this.#last = number;
    this.#kept.push({ number, bytes, changes });
    this.#bytes += bytes;
    for (const following of this.#followings) this.#tell(following);
    while (this.#kept.length > MOST_COMMITS || this.#bytes > MOST_BYTES) this.#drop();
  }

  follow(prefixes: readonly Key[], position: Position, follower: Follower): () => void {
    const [name, number] = position.split(':');
    const following = { prefixes, follower, told: Number(number) };
    this.#followings.add(following);
    queueMicrotask(() => {
      if (name === this.#name && following.told >= this.#before) this.#tell(following);
      else if (this.#followings.delete(following)) follower.gone();
    });
    return () => this.#followings.delete(following);
  }

  #tell(following: Following): void {
    const { prefixes, follower } = following;
    for (const { number, changes } of this.#kept) {
      if (number <= following.told) continue;
      if (!this.#followings.has(following)) return;
      following.told = number;
      const below = changesBelow(changes(), prefixes);
      if (below.length > 0) follower.committed(below, this.position(number));
    }
  }

  #drop(): void {
    const dropped = this.#kept.shift();
    if (dropped === undefined) return;
    this.#bytes -= dropped.bytes;
    this.#before = dropped.number;
  }
}

/** The changes of the records below the prefixes. */
export function changesBelow(changes: readonly Change[], prefixes: readonly Key[]): Change[] {
  return changes.flatMap((change): Change[] => {
    const key = 'put' in change ? change.put : 'remove' in change ? change.remove : change.clear;
    if (prefixes.some((prefix) => isBelow(key, prefix))) return [change];
    if (!('clear' in change)) return [];
    return prefixes.filter((prefix) => isBelow(prefix, key)).map((prefix) => ({ clear: prefix }));
  });
}

function isBelow(key: Key, prefix: Key): boolean {
  return prefix.every((part, index) => key[index] === part);
}
