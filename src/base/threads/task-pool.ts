/**
 * A pool of worker threads that serve one table of finite tasks. Requests are served in the order they were
 * made; the queue is bounded, because what waits there holds memory.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Piscina } from 'piscina';
import { Histogram } from '../metrics/histogram.js';
import type { CountedPool } from './pool-metrics.js';
import { refusals } from '../errors/errors.js';
import { valueOf, type TaskOutcome, type TaskRequest, type TaskTable } from './task.js';

/** When a pool is closed, its tasks have so long to finish, and then its threads have so long to end. */
const CLOSE_GRACE_MS = 5000;
const END_GRACE_MS = 1000;

export interface TaskPoolOptions {
  readonly worker: URL;
  readonly threads: number;
  /** As many threads are started with the pool: all, unless it says otherwise. The others are started by tasks that wait. */
  readonly readyThreads?: number;
  readonly queueLimit: number;
  readonly workerData?: unknown;
}

export class TaskPool<Table extends TaskTable> implements CountedPool {
  readonly #pool: Piscina<TaskRequest, TaskOutcome>;
  readonly #queueLimit: number;
  readonly seconds = new Histogram();
  #unfinished = 0;
  /** The number of threads that have loaded their file. */
  #loaded = 0;

  constructor(options: TaskPoolOptions) {
    this.#queueLimit = options.queueLimit;
    this.#pool = new Piscina<TaskRequest, TaskOutcome>({
      filename: options.worker.href,
      minThreads: options.readyThreads ?? options.threads,
      maxThreads: options.threads,
      idleTimeout: Infinity,
      closeTimeout: CLOSE_GRACE_MS,
      workerData: options.workerData,
      recordTiming: false,
      // One thread closes descriptors that another opened, so the end of a thread must close none by its number.
      trackUnmanagedFds: false,
      // Without this, a task that finds no idle thread goes back to the end of the queue.
      stricterFIFO: true,
    });
    this.#pool.on('workerCreate', () => this.#loaded++);
    this.#pool.on('workerDestroy', () => this.#loaded--);
  }

  /** Runs one task; `move` lists the buffers that change hands instead of being copied. */
  async run<Name extends keyof Table & string>(
    task: Name,
    input: Parameters<Table[Name]>[0],
    move: readonly ArrayBuffer[] = [],
  ): Promise<Awaited<ReturnType<Table[Name]>>> {
    if (this.#pool.queueSize >= this.#queueLimit) throw refusals.tooBusy();
    const begun = performance.now();
    this.#unfinished++;
    try {
      const outcome = await this.#pool.run({ task, input }, { transferList: [...move] });
      return valueOf(outcome) as Awaited<ReturnType<Table[Name]>>;
    } finally {
      this.#unfinished--;
      this.seconds.observe((performance.now() - begun) / 1000);
    }
  }

  get waiting(): number {
    return this.#pool.queueSize;
  }

  get busy(): number {
    return this.#unfinished - this.waiting;
  }

  /** Lets running and waiting tasks finish, for a while, and then ends the threads; tasks that are left fail. */
  async close(): Promise<void> {
    // The pool emits an error when the grace period is over.
    this.#pool.on('error', () => undefined);
    const givenUp = new AbortController();
    await Promise.race([
      this.#allLoaded().then(() => this.#pool.close()),
      sleep(CLOSE_GRACE_MS + END_GRACE_MS, undefined, { signal: givenUp.signal }).catch(() => undefined),
    ]);
    givenUp.abort();
  }

  /** A thread that is ended while it loads a native library ends the process. */
  async #allLoaded(): Promise<void> {
    while (this.#loaded < this.#pool.threads.length) await once(this.#pool, 'workerCreate');
  }
}

/** The part of a pool that runs tasks. */
export type TaskRunner<Table extends TaskTable> = Pick<TaskPool<Table>, 'run'>;
