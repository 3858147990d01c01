/**
 * Where a stage keeps frames until they are due. What is due goes on in batches, each a turn of its own: the one
 * before has left the engine, and its copies have been forgotten. So it may not be run while frames are on their way.
 */
import { COUNTER } from '../../base/memory/port-counters.js';
import { Batch, BATCH_FRAMES, type Port } from '../forwarding/port.js';
import type { FrameMemory } from '../forwarding/frame-memory.js';
import { FrameQueue } from './frame-queue.js';
import type { Due, Schedule } from './schedule.js';
import type { Stage } from './stage.js';

export interface HoldSurroundings {
  readonly port: Port;
  readonly memory: FrameMemory;
  readonly schedule: Schedule;
  /** Sends what devices have made of a batch, and empties the workspace of frame memory. */
  readonly deliverPending: () => void;
}

/** What one call of `run` delivers at most: others wait, too. */
const FRAMES_A_RUN = 1024;

export class Hold implements Due {
  readonly #surroundings: HoldSurroundings;
  readonly #next: Stage;
  readonly #queue = new FrameQueue();
  readonly #batch = new Batch();
  /** Also while it is run. */
  #isScheduled = false;

  constructor(surroundings: HoldSurroundings, next: Stage) {
    this.#surroundings = surroundings;
    this.#next = next;
  }

  get dueAt(): number {
    return this.#queue.dueAt;
  }

  get isEmpty(): boolean {
    return this.#queue.count === 0;
  }

  /** Returns whether there was room. Frames go on in the order in which they were kept. */
  keep(offset: number, length: number, dueAt: number): boolean {
    const { memory, schedule } = this.#surroundings;
    if (!this.#queue.add(memory.bytes, offset, length, dueAt)) return false;
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      schedule.add(this);
    }
    return true;
  }

  run(until: number): void {
    this.#release(until, FRAMES_A_RUN, this.#next);
    this.#isScheduled = !this.isEmpty;
    if (this.#isScheduled) this.#surroundings.schedule.add(this);
  }

  /** Everything goes on at once, to somewhere else. */
  flush(next: Stage): void {
    this.#release(Number.MAX_VALUE, Infinity, next);
    this.#unschedule();
  }

  drop(): void {
    this.#surroundings.port.count(COUNTER.held_back, this.#queue.count);
    this.#queue.clear();
    this.#unschedule();
  }

  #unschedule(): void {
    this.#surroundings.schedule.remove(this);
    this.#isScheduled = false;
  }

  /** What comes back meanwhile, in a loop of links, is not for this time. */
  #release(until: number, most: number, next: Stage): void {
    const { port, deliverPending } = this.#surroundings;
    const batch = this.#batch;
    for (let left = Math.min(most, this.#queue.count); left > 0 && this.#queue.dueAt <= until;) {
      this.#fill(Math.min(left, BATCH_FRAMES), until);
      if (batch.count === 0) {
        this.#queue.discard();
        port.count(COUNTER.no_memory);
        left--;
        continue;
      }
      left -= batch.count;
      next.pass(batch);
      batch.count = 0;
      deliverPending();
    }
  }

  /** As many as are due and the workspace has room for. */
  #fill(most: number, until: number): void {
    const { memory } = this.#surroundings;
    const queue = this.#queue;
    const batch = this.#batch;
    while (batch.count < most && queue.dueAt <= until) {
      const { length } = queue;
      const offset = memory.take(length);
      if (offset < 0) return;
      queue.move(memory.bytes, offset);
      batch.add(offset, length);
    }
  }
}
