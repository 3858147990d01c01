/** Loops of one kind, each in a thread of its own. New work goes to the loop that has the least. */
import { availableParallelism } from 'node:os';
import { loopThread } from './loop-thread.js';
import type { RunLoop } from './loop-run.js';

const CORES_PER_LOOP = 2;

/** The HTTP thread's side of one loop. */
export interface PooledLoop {
  /** How much it has to do, compared with the others. */
  readonly load: number;
  /** Lets its thread end after its round. */
  tellToEnd(): void;
  close(): Promise<void>;
}

interface LoopPoolOptions<Loop extends PooledLoop> {
  /** Runs one loop, from its start in `workerData` to its end. */
  readonly worker: URL;
  /** How many loops there are; one per two cores by default. */
  readonly count?: number;
  readonly newLoop: (run: RunLoop<unknown>) => Loop;
}

export class LoopPool<Loop extends PooledLoop> {
  readonly loops: readonly Loop[];
  readonly #tellAll = (): void => {
    for (const loop of this.loops) loop.tellToEnd();
  };

  constructor({ worker, count, newLoop }: LoopPoolOptions<Loop>) {
    const length = count ?? Math.max(1, Math.floor(availableParallelism() / CORES_PER_LOOP));
    this.loops = Array.from({ length }, () => newLoop(loopThread(worker)));
    // A thread that waits would hold up the end of the process.
    process.once('exit', this.#tellAll);
  }

  get leastLoaded(): Loop {
    return this.loops.reduce((least, other) => (other.load < least.load ? other : least));
  }

  async close(): Promise<void> {
    process.off('exit', this.#tellAll);
    await Promise.all(this.loops.map((loop) => loop.close()));
  }
}
