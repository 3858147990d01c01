/**
 * Worker loops of one kind, each in a thread of its own that is started by its first order: one loop per two cores. New
 * work goes to the loop that has the least.
 */
import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { valueOf, type TaskOutcome, type TaskRequest } from './task.js';
import type { RunLoop } from './worker-loop.js';

const CORES_PER_LOOP = 2;
/** A thread that has run a finite task stays so long for the next. */
const IDLE_MS = 10_000;

/** The HTTP thread's side of one loop. */
export interface PooledLoop {
  /** How much it has to do, compared with the others. */
  readonly load: number;
  /** Lets its thread end after its round. */
  tellToEnd(): void;
  close(): Promise<void>;
}

export interface LoopPoolOptions<Setup, Loop extends PooledLoop> {
  /** Its default export runs a loop. */
  readonly worker: URL;
  readonly workerData?: unknown;
  /** Threads for finite tasks beside the loops. */
  readonly taskThreads?: number;
  readonly newLoop: (run: RunLoop<Setup>) => Loop;
  /** Called when a thread fails outside of its loop. */
  readonly onError: (error: unknown) => void;
}

export class LoopPool<Setup, Loop extends PooledLoop> {
  readonly loops: readonly Loop[];
  readonly #threads: Piscina<unknown, unknown>;
  readonly #tasks = new Set<Promise<unknown>>();
  readonly #tellAll = (): void => {
    for (const loop of this.loops) loop.tellToEnd();
  };

  constructor({ worker, workerData, taskThreads = 0, newLoop, onError }: LoopPoolOptions<Setup, Loop>) {
    const count = Math.max(1, Math.floor(availableParallelism() / CORES_PER_LOOP));
    this.#threads = new Piscina<unknown, unknown>({
      filename: worker.href,
      minThreads: 0,
      maxThreads: count + taskThreads,
      idleTimeout: IDLE_MS,
      atomics: 'disabled',
      recordTiming: false,
      workerData,
      // Descriptors outlive the thread that opened them: another thread goes on with them.
      trackUnmanagedFds: false,
    });
    this.#threads.on('error', onError);
    const run: RunLoop<Setup> = async (start, move, signal) => {
      await this.#threads.run(start, { transferList: [...move], signal });
    };
    this.loops = Array.from({ length: count }, () => newLoop(run));
    // A thread that waits would hold up the end of the process.
    process.once('exit', this.#tellAll);
  }

  get leastLoaded(): Loop {
    return this.loops.reduce((least, other) => (other.load < least.load ? other : least));
  }

  /** Runs a finite task in a thread beside the loops, with the function that the worker exports under this name. */
  async runTask(name: string, request: TaskRequest): Promise<unknown> {
    const done = this.#threads.run(request, { name }).then((outcome) => valueOf(outcome as TaskOutcome));
    this.#tasks.add(done);
    try {
      return await done;
    } finally {
      this.#tasks.delete(done);
    }
  }

  /** Ends the loops, waits for finite tasks, and ends the threads. */
  async close(): Promise<void> {
    process.off('exit', this.#tellAll);
    await Promise.all(this.loops.map((loop) => loop.close()));
    await Promise.allSettled(this.#tasks);
    await this.#threads.destroy();
  }
}
