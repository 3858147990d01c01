/**
 * A pool of worker threads that serve one table of finite tasks. Requests are served in the order they were
 * made; the queue is bounded, because what waits there holds memory.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Piscina } from 'piscina';
import { refusals } from '../errors/errors.js';
import { valueOf, type TaskOutcome, type TaskRequest, type TaskTable } from './task.js';

/** What runs or waits when a pool is closed has so long to finish; its threads then have so long to end. */
const CLOSE_GRACE_MS = 5000;
const END_GRACE_MS = 1000;

export interface TaskPoolOptions {
  readonly worker: URL;
  readonly threads: number;
  /** Threads are started by the first tasks; otherwise with the pool. */
  readonly startsOnUse?: boolean;
  readonly queueLimit: number;
  readonly workerData?: unknown;
}

export class TaskPool<Table extends TaskTable> {
  readonly #pool: Piscina<TaskRequest, TaskOutcome>;
  readonly #queueLimit: number;

  constructor(options: TaskPoolOptions) {
    this.#queueLimit = options.queueLimit;
    this.#pool = new Piscina<TaskRequest, TaskOutcome>({
      filename: options.worker.href,
      minThreads: options.startsOnUse === true ? 0 : options.threads,
      maxThreads: options.threads,
      idleTimeout: Infinity,
      closeTimeout: CLOSE_GRACE_MS,
      workerData: options.workerData,
      recordTiming: false,
      // One thread closes descriptors that another opened, so the end of a thread must close none by its number.
      trackUnmanagedFds: false,
      // Otherwise a task that finds no idle thread goes back to the end of the queue.
      stricterFIFO: true,
    });
  }

  /** Runs one task; `move` lists the buffers that change hands instead of being copied. */
  async run<Name extends keyof Table & string>(
    task: Name,
    input: Parameters<Table[Name]>[0],
    move: readonly ArrayBuffer[] = [],
  ): Promise<Awaited<ReturnType<Table[Name]>>> {
    if (this.#pool.queueSize >= this.#queueLimit) throw refusals.tooBusy();
    const outcome = await this.#pool.run({ task, input }, { transferList: [...move] });
    return valueOf(outcome) as Awaited<ReturnType<Table[Name]>>;
  }

  /** Lets running and waiting tasks finish, for a while, then ends the threads: what is left by then fails. */
  async close(): Promise<void> {
    // It tells so that the while is over.
    this.#pool.on('error', () => undefined);
    const givenUp = new AbortController();
    await Promise.race([
      this.#pool.close(),
      sleep(CLOSE_GRACE_MS + END_GRACE_MS, undefined, { signal: givenUp.signal }).catch(() => undefined),
    ]);
    givenUp.abort();
  }
}

/** What those need of a pool who only have tasks carried out. */
export type TaskRunner<Table extends TaskTable> = Pick<TaskPool<Table>, 'run'>;
