/**
 * A pool of worker threads that serve one table of finite tasks. Requests are served in the order they were
 * made; the queue is bounded, because what waits there holds memory.
 *
 * A thread takes a tenth of a second of a core to start, and some megabytes. So a burst of short tasks is left to the
 * threads that are there: another one is started when a task has waited for a while, and none of them is just starting.
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
/** A task that has waited so long gets another thread. */
const PATIENCE_MS = 50;

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
  readonly #mostThreads: number;
  readonly seconds = new Histogram();
  #unfinished = 0;
  /** The tasks that threads have, or that the library's own queue has. */
  #handedOver = 0;
  /** Tasks that wait for a thread while more threads could be started; each is called when its turn has come. */
  readonly #turns: (() => void)[] = [];
  #patience: NodeJS.Timeout | undefined;
  /** The threads that have loaded their file. */
  readonly #loaded = new Set<unknown>();

  constructor(options: TaskPoolOptions) {
    this.#queueLimit = options.queueLimit;
    this.#mostThreads = options.threads;
    this.#pool = new Piscina<TaskRequest, TaskOutcome>({
      filename: options.worker.href,
      // The library takes threads that it starts by itself as loaded when they are not.
      minThreads: 0,
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
    this.#pool.on('workerCreate', (thread: unknown) => {
      this.#loaded.add(thread);
      this.#patience?.refresh();
    });
    this.#pool.on('workerDestroy', (thread: unknown) => this.#loaded.delete(thread));
    for (let thread = 0; thread < (options.readyThreads ?? options.threads); thread++) this.#startThread();
  }

  /** A request for no task: its thread loads its file for it, and then fails it. */
  #startThread(): void {
    this.#handOver({ task: '', input: undefined }, []).catch(() => undefined);
  }

  /** Runs one task; `move` lists the buffers that change hands instead of being copied. */
  async run<Name extends keyof Table & string>(
    task: Name,
    input: Parameters<Table[Name]>[0],
    move: readonly ArrayBuffer[] = [],
  ): Promise<Awaited<ReturnType<Table[Name]>>> {
    if (this.waiting >= this.#queueLimit) throw refusals.tooBusy();
    const begun = performance.now();
    this.#unfinished++;
    try {
      const outcome = await this.#inTurn({ task, input }, move);
      return valueOf(outcome) as Awaited<ReturnType<Table[Name]>>;
    } finally {
      this.#unfinished--;
      this.seconds.observe((performance.now() - begun) / 1000);
    }
  }

  get waiting(): number {
    return this.#turns.length + this.#pool.queueSize;
  }

  get busy(): number {
    return this.#unfinished - this.waiting;
  }

  async #handOver(request: TaskRequest, move: readonly ArrayBuffer[]): Promise<TaskOutcome> {
    this.#handedOver++;
    try {
      return await this.#pool.run(request, { transferList: [...move] });
    } finally {
      this.#handedOver--;
      this.#giveTurns();
    }
  }

  /** Whether a task that is handed over now starts no thread beside those that are there. */
  get #hasRoom(): boolean {
    if (this.#loaded.size === this.#mostThreads) return true;
    const threads = this.#pool.threads.length;
    return threads === this.#mostThreads || this.#handedOver < Math.max(threads, 1);
  }

  #inTurn(request: TaskRequest, move: readonly ArrayBuffer[]): Promise<TaskOutcome> {
    if (this.#hasRoom && this.#turns.length === 0) return this.#handOver(request, move);
    return new Promise((resolve) => {
      this.#turns.push(() => {
        resolve(this.#handOver(request, move));
      });
      this.#patience ??= this.#startPatience();
    });
  }

  #giveTurns(): void {
    while (this.#turns.length > 0 && this.#hasRoom) this.#turns.shift()?.();
  }

  #startPatience(): NodeJS.Timeout {
    return setTimeout(() => {
      if (this.#loaded.size === this.#pool.threads.length) this.#turns.shift()?.();
      this.#giveTurns();
      this.#patience = this.#turns.length === 0 ? undefined : this.#startPatience();
    }, PATIENCE_MS);
  }

  /** Lets running and waiting tasks finish, for a while, and then ends the threads; tasks that are left fail. */
  async close(): Promise<void> {
    while (this.#turns.length > 0) this.#turns.shift()?.();
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
    while (this.#loaded.size < this.#pool.threads.length) await once(this.#pool, 'workerCreate');
  }
}

/** The part of a pool that runs tasks. */
export type TaskRunner<Table extends TaskTable> = Pick<TaskPool<Table>, 'run'>;
