/**
 * A pool of worker threads that serve one table of finite tasks. Requests are served in the order they were
 * made; the queue is bounded, because what waits there holds memory.
 */
import { Piscina } from 'piscina';
import { Refusal, refusals } from '../errors.js';
import type { TaskOutcome, TaskRequest, TaskTable } from './task.js';

export interface TaskPoolOptions {
  readonly worker: URL;
  readonly threads: number;
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
      minThreads: options.threads,
      maxThreads: options.threads,
      idleTimeout: Infinity,
      workerData: options.workerData,
      recordTiming: false,
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
    if ('value' in outcome) return outcome.value as Awaited<ReturnType<Table[Name]>>;
    const { message, status, stack } = outcome.failure;
    if (status !== undefined) throw new Refusal(status, message);
    const error = new Error(message);
    if (stack !== undefined) error.stack = stack;
    throw error;
  }

  /** Lets running and waiting tasks finish, then ends the threads. */
  async close(): Promise<void> {
    await this.#pool.close();
  }
}
