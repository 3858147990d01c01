/**
 * A pool of worker threads that serve one table of finite tasks. Requests are served in the order they were
 * made; the queue is bounded, because what waits there holds memory.
 */
import { Piscina } from 'piscina';
import { refusals } from '../errors.js';
import { valueOf, type TaskOutcome, type TaskRequest, type TaskTable } from './task.js';

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
      workerData: options.workerData,
      recordTiming: false,
      // What one thread opens another may close: its end must not close what has that number by then.
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

  /** Lets running and waiting tasks finish, then ends the threads. */
  async close(): Promise<void> {
    await this.#pool.close();
  }
}
