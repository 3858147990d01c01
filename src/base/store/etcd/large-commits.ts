/**
 * Commits that do not fit in one transaction. Their changes are put aside in parts. Then one small transaction decides:
 * it names the parts, and from then on every reader and every follower adds them. At last they are applied step by
 * step, by the server that has decided, or by any other that finds them; other commits wait for that.
 */
import { pack, unpack } from 'msgpackr';
import { unpackRawChanges, packRawChanges } from '../packing.js';
import type { RawChange } from '../journal-format.js';
import { CommitPlan } from './commit-plan.js';
import type { StoredCondition, EtcdClient, KeyValue } from './etcd-client.js';
import type { EtcdKeys, KeyRange } from './etcd-keys.js';

const BYTES_OF_A_PART = 512 * 1024;
const PARTS_OF_A_PAGE = 16;

/** The value of the key that decides. */
interface LargeCommit {
  readonly server: string;
  readonly id: string;
  readonly parts: number;
}

/** The put that decides, and its condition. */
interface Decision {
  readonly put: string;
  readonly value: Buffer;
  readonly condition: StoredCondition;
}

export class LargeCommits {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #server: string;

  constructor(client: EtcdClient, keys: EtcdKeys, server: string) {
    this.#client = client;
    this.#keys = keys;
    this.#server = server;
  }

  /** Puts the changes aside. */
  async putAside(id: string, changes: readonly RawChange[]): Promise<Decision> {
    const bytes = packRawChanges(changes);
    const first = this.#keys.part(this.#server, id, 0);
    let created = 0;
    let parts = 0;
    for (let start = 0; start < bytes.length; start += BYTES_OF_A_PART) {
      const put = this.#keys.part(this.#server, id, parts++);
      const value = bytes.subarray(start, start + BYTES_OF_A_PART);
      const answer = await this.#client.transaction(
        [{ key: put, created: 0 }],
        [{ put, value }],
        [{ range: { from: put } }],
      );
      if (put === first)
        created = answer.succeeded ? answer.revision : (answer.ranges[0]?.records[0]?.created ?? 0);
    }
    const large: LargeCommit = { server: this.#server, id, parts };
    // A late removal of what an earlier life has left takes the first part, if it takes any.
    return { put: this.#keys.large, value: pack(large), condition: { key: first, created } };
  }

  /** Removes the parts of a commit, unless it has been decided. */
  async giveUp(id: string): Promise<void> {
    const none = { key: this.#keys.large, created: 0 };
    await this.#client.transaction([none], [{ remove: this.#keys.parts(this.#server, id) }]);
  }

  /** Removes what an earlier life of this server has put aside and not decided. */
  async giveUpAll(): Promise<void> {
    const remove = this.#keys.parts(this.#server);
    for (;;) {
      const { succeeded, ranges } = await this.#client.transaction(
        [{ key: this.#keys.large, created: 0 }],
        [{ remove }],
        [{ range: { from: this.#keys.large } }],
      );
      const [decided] = ranges[0]?.records ?? [];
      if (succeeded || decided === undefined) return;
      await this.finish(decided);
    }
  }

  /** Its changes; `revision` is a moment at which it was decided and not finished. 0 is now. */
  async changesOf(decided: KeyValue, revision: number): Promise<RawChange[]> {
    const { server, id, parts } = unpack(decided.value) as LargeCommit;
    const { from, to } = this.#keys.parts(server, id);
    const pieces: KeyValue[] = [];
    let range: KeyRange = { from, ...(to !== undefined && { to }) };
    for (;;) {
      const { records, hasMore } = await this.#client.range(range, revision, PARTS_OF_A_PAGE);
      pieces.push(...records);
      const last = records.at(-1);
      if (!hasMore || last === undefined) break;
      range = { ...range, from: `${last.key}\0` };
    }
    if (pieces.length !== parts) throw new Error('A large commit of the store is not there any more');
    return unpackRawChanges(Buffer.concat(pieces.map(({ value }) => value)));
  }

  /** Applies it; several servers may do so at the same time. */
  async finish(decided: KeyValue): Promise<void> {
    const stillThere = { key: this.#keys.large, modified: decided.modified };
    const now = await this.#client.transaction([stillThere], []);
    if (!now.succeeded) return;
    const changes = await this.changesOf(decided, now.revision);
    let step = 0;
    for (const operations of new CommitPlan(this.#keys, changes).steps()) {
      const mark = { put: this.#keys.largeStep, value: Buffer.from(String(++step)) };
      const { succeeded } = await this.#client.transaction([stillThere], [mark, ...operations]);
      if (!succeeded) return;
    }
    const { server, id } = unpack(decided.value) as LargeCommit;
    const ended = [{ from: this.#keys.large }, { from: this.#keys.largeStep }, this.#keys.parts(server, id)];
    await this.#client.transaction(
      [stillThere],
      ended.map((remove) => ({ remove })),
    );
  }
}
