/** A store in memory that records its commits, and can be told to refuse them or to make them wait. */
import { packRecords, unpackChanges } from '../../src/base/store/packing.js';
import { CommitLog } from '../../src/base/store/commit-log.js';
import type {
  Change,
  ClaimOutcome,
  Follower,
  Key,
  Packed,
  Position,
  Reading,
  Store,
  StoredRecord,
} from '../../src/base/store/store.js';

export class FakeStore implements Store {
  /** The changes of every commit that succeeded, in order. */
  readonly commits: (readonly Change[])[] = [];
  /** When set, commits are refused with it. */
  failure: Error | undefined;
  readonly #records = new Map<string, StoredRecord>();
  readonly #log = new CommitLog('fake');
  #gate: Promise<void> = Promise.resolve();

  /** Commits wait from now on; returns what lets them go. */
  pause(): () => void {
    let release: () => void = () => undefined;
    this.#gate = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }

  /** Puts a record there without a commit. */
  seed(key: Key, value: unknown): void {
    this.#apply({ put: key, value });
  }

  async commit(changes: readonly Change[]): Promise<void> {
    // The store owns what it is given: later changes of the caller's array are none of the commit.
    const taken = [...changes];
    await this.#gate;
    if (this.failure !== undefined) throw this.failure;
    this.commits.push(taken);
    for (const change of taken) this.#apply(change);
    this.#log.add(this.commits.length, 0, () => taken);
  }

  commitPacked(...parts: readonly Packed[]): Promise<void> {
    return this.commit(parts.flatMap(unpackChanges));
  }

  load(...prefixes: readonly Key[]): Promise<StoredRecord[]> {
    const records = [...this.#records.values()];
    records.sort((a, b) => (a.key.join('\0') < b.key.join('\0') ? -1 : 1));
    return Promise.resolve(
      prefixes.flatMap((prefix) => records.filter(({ key }) => startsWith(key, prefix))),
    );
  }

  async loadPacked(...prefixes: readonly Key[]): Promise<Packed> {
    return packRecords(await this.load(...prefixes));
  }

  async read(...prefixes: readonly Key[]): Promise<Reading> {
    return { records: await this.load(...prefixes), position: this.#log.position(this.commits.length) };
  }

  follow(prefixes: readonly Key[], position: Position, follower: Follower): () => void {
    return this.#log.follow(prefixes, position, follower);
  }

  async claim(scope: string, ...prefixes: readonly Key[]): Promise<ClaimOutcome> {
    const claim = {
      ...{ scope, store: this, epoch: 1 },
      lost: new AbortController().signal,
      isFresh: () => true,
      release: () => Promise.resolve(),
    };
    return { claim, reading: await this.read(...prefixes) };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #apply(change: Change): void {
    if ('put' in change) {
      this.#records.set(JSON.stringify(change.put), { key: change.put, value: change.value });
    } else if ('remove' in change) {
      this.#records.delete(JSON.stringify(change.remove));
    } else {
      for (const [text, { key }] of this.#records) {
        if (startsWith(key, change.clear)) this.#records.delete(text);
      }
    }
  }
}

function startsWith(key: Key, prefix: Key): boolean {
  return prefix.every((part, index) => key[index] === part);
}
