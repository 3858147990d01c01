/**
 * Commits of one holder, one after the other. Each is a link of a chain: a key of etcd gets the commit's random number,
 * on condition that the last link is still there. So a commit that was sent twice happens once, and one without an
 * answer is sent until there is one, which tells what became of it.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { refusals } from '../../errors/errors.js';
import type { RawChange } from '../journal-format.js';
import { accessProblem } from './etcd-access.js';
import { CommitPlan, LARGEST_VALUE } from './commit-plan.js';
import { isSpaceExceeded, UnknownOutcome } from './etcd-client.js';
import type { StoredCondition, EtcdClient, KeyValue, Operation, TransactionAnswer } from './etcd-client.js';
import type { EtcdKeys } from './etcd-keys.js';
import type { LargeCommits } from './large-commits.js';

/** Servers that refuse connections are tried for so long, as they may be choosing a leader. */
const PATIENCE_MS = 3000;
const PAUSE_MS = 100;
/** Commits that wait share a transaction, up to so many changes. */
const MOST_TOGETHER = 256;
const MOST_BYTES_TOGETHER = 256 * 1024;
/** More than this waits for no commit. */
const QUEUE_LIMIT = 10_000;

interface Waiting {
  readonly changes: readonly RawChange[];
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

interface ChainOptions {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly large: LargeCommits;
  /** The key of the chain, and the revision of its last link. */
  readonly key: string;
  readonly last: number;
  /** The last link of the holder before. */
  readonly before: string;
  /** A condition that must hold besides, and the scope that is lost otherwise. */
  readonly fence: StoredCondition | undefined;
  readonly scope: string;
  readonly onLost: () => void;
}

export class CommitChain {
  readonly #options: ChainOptions;
  readonly #queue: Waiting[] = [];
  #last: number;
  #isRunning = false;
  /** Since when a commit is under way without an answer. */
  #isStuck = false;
  #ended: Error | undefined;

  constructor(options: ChainOptions) {
    this.#options = options;
    this.#last = options.last;
  }

  async commit(changes: readonly RawChange[]): Promise<void> {
    if (changes.length === 0) return;
    let bytes = 0;
    for (const { value } of changes) {
      if (value.length > LARGEST_VALUE) throw refusals.recordTooLarge();
      bytes += value.length;
    }
    // A key that is none must not fail those that are committed together with it.
    new CommitPlan(this.#options.keys, changes);
    if (this.#ended !== undefined) throw this.#ended;
    if (this.#isStuck || this.#queue.length >= QUEUE_LIMIT) throw refusals.storeUnreachable();
    await new Promise<void>((resolve, reject) => {
      this.#queue.push({ changes, bytes, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Refuses everything from now on, also what waits. */
  end(reason: Error): void {
    this.#ended ??= reason;
    this.#refuseWaiting(this.#ended);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) {
      try {
        await this.#apply(batch.flatMap(({ changes }) => changes));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      this.#isStuck = false;
    }
    this.#isRunning = false;
  }

  #nextBatch(): Waiting[] {
    let count = 0;
    let bytes = 0;
    let commits = 0;
    for (const waiting of this.#queue) {
      count += waiting.changes.length;
      bytes += waiting.bytes;
      if (commits > 0 && (count > MOST_TOGETHER || bytes > MOST_BYTES_TOGETHER)) break;
      commits++;
    }
    return this.#queue.splice(0, commits);
  }

  #refuseWaiting(reason: Error): void {
    for (const { reject } of this.#queue.splice(0)) reject(reason);
  }

  async #apply(changes: readonly RawChange[]): Promise<void> {
    const { keys, large } = this.#options;
    const id = randomBytes(12).toString('hex');
    const { operations } = new CommitPlan(keys, changes);
    if (operations !== undefined) {
      await this.#link(id, operations);
      return;
    }
    try {
      const { put, value, condition } = await large.putAside(id, changes);
      await this.#link(id, [{ put, value }], [condition]);
      // It is decided: whoever comes next finishes it, when this server cannot.
      const decided = { key: put, value, created: this.#last, modified: this.#last };
      await large.finish(decided).catch(() => undefined);
    } catch (error) {
      await large.giveUp(id).catch(() => undefined);
      throw told(error);
    }
  }

  /** Commits as the next link. */
  async #link(
    id: string,
    operations: readonly Operation[],
    more: readonly StoredCondition[] = [],
  ): Promise<void> {
    const attempt = { id, operations, more, wasSent: false, begun: performance.now() };
    try {
      while (!(await this.#isLinked(attempt))) {
        if (this.#ended !== undefined) throw this.#ended;
      }
    } catch (error) {
      if (this.#ended !== undefined) throw this.#ended;
      // It may be on its way, and must not happen after it was refused.
      if (attempt.wasSent && (await this.#hasHappened(id))) return;
      throw told(error);
    }
  }

  async #isLinked(attempt: Attempt): Promise<boolean> {
    const { client, keys, large, key, fence, before } = this.#options;
    const link = Buffer.from(`${attempt.id} ${before}`);
    let answer: TransactionAnswer;
    try {
      answer = await client.transaction(
        [...this.#conditions, { key: keys.large, created: 0 }, ...attempt.more],
        [{ put: key, value: link }, { put: keys.last, value: NOTHING }, ...attempt.operations],
        [...this.#questions, { range: { from: keys.large } }],
      );
    } catch (error) {
      attempt.wasSent ||= error instanceof UnknownOutcome && error.wasSent;
      if (!(error instanceof UnknownOutcome) || isSpaceExceeded(error)) throw error;
      await this.#pause(attempt, error);
      return false;
    }
    if (answer.succeeded) {
      this.#last = answer.revision;
      return true;
    }
    if (this.#happened(answer, attempt.id)) return true;
    const decided = answer.ranges.at(fence === undefined ? 1 : 2)?.records[0];
    if (decided !== undefined) await large.finish(decided);
    else if (attempt.more.length > 0) throw refusals.storeUnreachable();
    return false;
  }

  /** Makes sure that a commit cannot happen any more, or tells that it has. */
  async #hasHappened(id: string): Promise<boolean> {
    const { client, key } = this.#options;
    const attempt = { begun: performance.now(), wasSent: true };
    for (;;) {
      // A removal is possible without room. Where there is nothing to remove, nothing would change.
      const barrier: Operation =
        this.#last === 0 ? { put: key, value: Buffer.from('barrier') } : { remove: { from: key } };
      try {
        const answer = await client.transaction(this.#conditions, [barrier], this.#questions);
        if (answer.succeeded) {
          this.#last = this.#last === 0 ? answer.revision : 0;
          return false;
        }
        return this.#happened(answer, id);
      } catch (error) {
        if (this.#ended !== undefined) throw this.#ended;
        // A server that is not let in does not know either.
        const isOpen = error instanceof UnknownOutcome || accessProblem(error) !== undefined;
        if (isOpen || isSpaceExceeded(error)) await this.#pause(attempt, error);
        else throw error;
      }
    }
  }

  get #conditions(): readonly StoredCondition[] {
    const { key, fence } = this.#options;
    const isLast = { key, modified: this.#last };
    return fence === undefined ? [isLast] : [isLast, fence];
  }

  get #questions(): readonly Operation[] {
    const { key, fence } = this.#options;
    return [key, ...(fence === undefined ? [] : [fence.key])].map((from) => ({ range: { from } }));
  }

  /** Whether it has, as the answers to the questions tell; they may also tell that somebody else has the chain. */
  #happened({ ranges }: TransactionAnswer, id: string): boolean {
    const { fence, scope, onLost } = this.#options;
    const [link, owner] = ranges.map(({ records: [record] }): KeyValue | undefined => record);
    const [last, before] = (link?.value.toString() ?? '').split(' ');
    if (link !== undefined && last === id) {
      this.#last = link.modified;
      return true;
    }
    const isOwner = fence === undefined || ('created' in fence && owner?.created === fence.created);
    if (isOwner && (link?.modified ?? 0) === this.#last) return false;
    this.end(refusals.claimLost(scope));
    onLost();
    // The next holder keeps the last link of the one before.
    if (before === id) return true;
    throw refusals.claimLost(scope);
  }

  /** Waits before the next attempt. */
  async #pause({ begun, wasSent }: Pick<Attempt, 'begun' | 'wasSent'>, error: unknown): Promise<void> {
    if (this.#ended !== undefined) throw this.#ended;
    if (performance.now() - begun > PATIENCE_MS) {
      if (!wasSent) throw told(error);
      // Nobody knows yet, so this one waits; others are told at once.
      this.#isStuck = true;
      this.#refuseWaiting(refusals.storeUnreachable(error));
    }
    await sleep(PAUSE_MS);
  }
}

const NOTHING = Buffer.alloc(0);

interface Attempt {
  readonly id: string;
  readonly operations: readonly Operation[];
  readonly more: readonly StoredCondition[];
  readonly begun: number;
  wasSent: boolean;
}

/** The refusal that an error of etcd amounts to. */
export function told(error: unknown): unknown {
  if (isSpaceExceeded(error)) return refusals.storeFull();
  const problem = accessProblem(error);
  if (problem !== undefined) return refusals.storeForbidden(problem, error);
  return error instanceof UnknownOutcome ? refusals.storeUnreachable(error) : error;
}
