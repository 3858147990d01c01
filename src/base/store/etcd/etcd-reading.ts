/** Records as of one moment, however many they are. */
import { unpack } from 'msgpackr';
import type { Key, StoredRecord } from '../store.js';
import type { RawChange } from '../journal-format.js';
import { type EtcdClient, type KeyValue, type Operation, type RangeAnswer } from './etcd-client.js';
import { compareKeys, type EtcdKeys, type KeyRange } from './etcd-keys.js';
import type { LargeCommits } from './large-commits.js';

const RECORDS_OF_A_PAGE = 500;
/** etcd takes 128 operations of one level. */
const RANGES_OF_A_GROUP = 64;

interface EtcdMoment {
  readonly records: readonly StoredRecord[];
  readonly revision: number;
}

export class EtcdReading {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #large: LargeCommits;

  constructor(client: EtcdClient, keys: EtcdKeys, large: LargeCommits) {
    this.#client = client;
    this.#keys = keys;
    this.#large = large;
  }

  async read(prefixes: readonly Key[]): Promise<EtcdMoment> {
    const { ranges, revision } = await this.#client.transaction([], this.operations(prefixes));
    return this.complete(prefixes, ranges, revision);
  }

  /** The revision of the last commit; 0 when there is none. */
  async lastCommit(): Promise<number> {
    const { ranges } = await this.#client.transaction([], [{ range: { from: this.#keys.last } }]);
    return ranges[0]?.records[0]?.modified ?? 0;
  }

  /** The operations of a transaction that read the first page of each prefix. */
  operations(prefixes: readonly Key[]): readonly Operation[] {
    const all: Operation[] = [{ range: { from: this.#keys.large } }];
    for (const range of this.#rangesOf(prefixes)) all.push({ range, limit: RECORDS_OF_A_PAGE });
    if (all.length <= RANGES_OF_A_GROUP) return all;
    const groups: Operation[] = [];
    for (let start = 0; start < all.length; start += RANGES_OF_A_GROUP) {
      groups.push({ all: all.slice(start, start + RANGES_OF_A_GROUP) });
    }
    return groups;
  }

  /** Goes on from the answers to these operations, at their revision. */
  async complete(
    prefixes: readonly Key[],
    first: readonly RangeAnswer[],
    revision: number,
  ): Promise<EtcdMoment> {
    const [deciding, ...pages] = first;
    const [decided] = deciding?.records ?? [];
    const changes = decided === undefined ? [] : await this.#large.changesOf(decided, revision);
    const records: StoredRecord[] = [];
    let at = 0;
    for (const prefix of prefixes) {
      const found = new Map<string, Uint8Array>();
      for (const range of this.#keys.ranges(prefix)) {
        for (const { key, value } of await this.#wholeRange(range, pages[at++], revision))
          found.set(key, value);
      }
      this.#apply(changes, prefix, found);
      records.push(...this.#recordsOf(found));
    }
    return { records, revision };
  }

  #rangesOf(prefixes: readonly Key[]): KeyRange[] {
    return prefixes.flatMap((prefix) => this.#keys.ranges(prefix));
  }

  async #wholeRange(range: KeyRange, first: RangeAnswer | undefined, revision: number): Promise<KeyValue[]> {
    const records = [...(first?.records ?? [])];
    let hasMore = first?.hasMore ?? false;
    while (hasMore) {
      const last = records.at(-1);
      if (last === undefined) break;
      const page = await this.#client.range({ ...range, from: `${last.key}\0` }, revision, RECORDS_OF_A_PAGE);
      records.push(...page.records);
      hasMore = page.hasMore;
    }
    return records;
  }

  /** Adds the changes of a large commit, of which some may have been applied. */
  #apply(changes: readonly RawChange[], prefix: Key, found: Map<string, Uint8Array>): void {
    for (const { kind, key, value } of changes) {
      const path = this.#keys.record(key);
      if (kind === 'put') {
        if (prefix.every((part, index) => key[index] === part)) found.set(path, value);
      } else if (kind === 'remove') found.delete(path);
      else
        for (const other of found.keys())
          if (other === path || other.startsWith(`${path}/`)) found.delete(other);
    }
  }

  #recordsOf(found: ReadonlyMap<string, Uint8Array>): StoredRecord[] {
    const records: StoredRecord[] = [];
    for (const [path, value] of found) {
      const key = this.#keys.keyOf(path);
      if (key !== undefined) records.push({ key, value: unpack(value) as unknown });
    }
    return records.sort((a, b) => compareKeys(a.key, b.key));
  }
}
