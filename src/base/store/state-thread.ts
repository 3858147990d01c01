/** The store on the HTTP thread: the state thread carries out every call, in order. */
import { randomUUID } from 'node:crypto';
import { Refusal } from '../errors/errors.js';
import { Histogram } from '../metrics/histogram.js';
import type { MetricPage } from '../metrics/metric-page.js';
import type { CountedPool } from '../threads/pool-metrics.js';
import { TaskPool } from '../threads/task-pool.js';
import type { Notice } from './journal-opening.js';
import { CommitLog } from './commit-log.js';
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
/** The reason of a failure that is no refusal. */
const FAULT = 'fault';
/** Numbers of requests. */
const SHARED = [1, 2, 4, 8, 16, 32, 64, 128];

/** Changes that go along with a commit of others. */
export interface CompanionPart {
  readonly changes: Packed;
  /** Called with the outcome of the commit, before whoever asked for it goes on. */
  ended(isStored: boolean): void;
}

/** Changes for the next commit, whichever it is. */
export interface Companion {
  readonly part: () => CompanionPart | undefined;
}

export class StateThread implements Store {
  readonly #pool: TaskPool<StateTasks>;
  readonly #seconds = new Histogram();
  readonly #requests = new Histogram(SHARED);
  /** By the code of the refusal. Usual ones are there from the start, so that their first rise shows. */
  readonly #failures = new Map([
    ['disk_full', 0],
    [FAULT, 0],
  ]);
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
    this.#requests.observe(requests);
    await this.commitPacked(packChanges(changes));
  }

  async commitPacked(...parts: readonly Packed[]): Promise<void> {
    const begun = performance.now();
    const companion = this.#companion?.part();
    try {
      const number = await this.#pool.run('commit', { parts, companion: companion?.changes });
      const packed = companion === undefined ? parts : [...parts, companion.changes];
      this.#log.add(number, lengthOf(packed), () => packed.flatMap(unpackChanges));
      companion?.ended(true);
    } catch (error) {
      companion?.ended(false);
      const reason = error instanceof Refusal ? error.code : FAULT;
      this.#failures.set(reason, (this.#failures.get(reason) ?? 0) + 1);
      throw error;
    } finally {
      this.#seconds.observe((performance.now() - begun) / 1000);
    }
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

  readonly writeMetrics = (page: MetricPage): void => {
    page.histogram('commit_seconds', 'Time from the request of a commit to its outcome');
    page.buckets(this.#seconds);
    page.histogram('commit_requests', 'Requests that shared a commit');
    page.buckets(this.#requests);
    page.counter('commit_failures', 'Commits that failed, by the code of the refusal');
    for (const [reason, count] of this.#failures) page.sample(count, { reason });
  };

  async close(): Promise<void> {
    await this.#pool.run('close', undefined);
    await this.#pool.close();
  }
}

function lengthOf(parts: readonly Packed[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}
