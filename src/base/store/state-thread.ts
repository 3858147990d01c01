/** The store on the HTTP thread: the state thread carries out every call, in order. */
import { randomUUID } from 'node:crypto';
import type { CountedPool } from '../threads/pool-metrics.js';
import { TaskPool } from '../threads/task-pool.js';
import type { Notice } from './journal-opening.js';
import { CommitLog } from './commit-log.js';
import { CommitMetrics, type Companion } from './commit-metrics.js';
import { packChanges, unpackChanges, unpackRecords } from './packing.js';
import type { StoreExamination } from './store-examination.js';
import type { StateTasks } from './state-tasks.js';
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
} from './store.js';

const QUEUE_LIMIT = 10_000;

export class StateThread implements Store {
  readonly #pool: TaskPool<StateTasks>;
  readonly #metrics = new CommitMetrics('disk_full');
  /** Positions are of this process: another one may have the same numbers for other commits. */
  readonly #log = new CommitLog(randomUUID());
  #companion: Companion | undefined;
  #epoch = 0;

  constructor(folder: string) {
    const worker = new URL('../../../workers/state-worker.js', import.meta.url);
    this.#pool = new TaskPool({ worker, threads: 1, queueLimit: QUEUE_LIMIT, workerData: { folder } });
  }

  /** Opens the store, as any first call does, and returns messages for the operator. */
  async open(): Promise<readonly Notice[]> {
    return this.#pool.run('open', undefined);
  }

  /** There is one companion. */
  accompany(companion: Companion): void {
    this.#companion = companion;
  }

  /** Looks at a store that has not been opened, and changes nothing. Rejects when it could not be opened. */
  examine(): Promise<StoreExamination> {
    return this.#pool.run('examine', undefined);
  }

  async commit(changes: readonly Change[], requests = 1): Promise<void> {
    this.#metrics.shared(requests);
    await this.#commit((along) => [packChanges(along.length === 0 ? changes : [...changes, ...along])]);
  }

  async commitPacked(...parts: readonly Packed[]): Promise<void> {
    await this.#commit((along) => (along.length === 0 ? parts : [...parts, packChanges(along)]));
  }

  /** Each buffer takes both threads a while, so changes that are not packed yet share one with what goes along. */
  async #commit(partsWith: (along: readonly Change[]) => readonly Packed[]): Promise<void> {
    await this.#metrics.timed(this.#companion, async (along) => {
      const parts = partsWith(along);
      const number = await this.#pool.run('commit', { parts, along: along.length });
      this.#log.add(number, lengthOf(parts), () => parts.flatMap(unpackChanges));
    });
  }

  async load(...prefixes: readonly Key[]): Promise<StoredRecord[]> {
    return unpackRecords(await this.loadPacked(...prefixes));
  }

  async loadPacked(...prefixes: readonly Key[]): Promise<Packed> {
    const { records } = await this.#pool.run('load', prefixes);
    return records;
  }

  async read(...prefixes: readonly Key[]): Promise<Reading> {
    const { records, number } = await this.#pool.run('load', prefixes);
    return { records: unpackRecords(records), position: this.#log.position(number) };
  }

  follow(prefixes: readonly Key[], position: Position, follower: Follower): () => void {
    return this.#log.follow(prefixes, position, follower);
  }

  /** No other process has this store: each claim is granted, and none is ever lost. */
  async claim(scope: string, ...prefixes: readonly Key[]): Promise<ClaimOutcome> {
    const reading = await this.read(...prefixes);
    const claim = {
      ...{ scope, store: this, epoch: ++this.#epoch },
      lost: new AbortController().signal,
      isFresh: () => true,
      release: () => Promise.resolve(),
    };
    return { claim, reading };
  }

  /** Writes all records of one moment to a new file, but for those whose keys begin with one of `except`. */
  copyTo(path: string, except: readonly string[]): Promise<void> {
    return this.#pool.run('copy', { path, except });
  }

  /** Its queue and thread, for the metrics of all pools. */
  get pool(): CountedPool {
    return this.#pool;
  }

  get writeMetrics(): CommitMetrics['write'] {
    return this.#metrics.write;
  }

  async close(): Promise<void> {
    await this.#pool.run('close', undefined);
    await this.#pool.close();
  }
}

function lengthOf(parts: readonly Packed[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}
