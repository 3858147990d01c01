/** Stages in which frames wait: the frames that a stage holds, and the stage that delays frames by a timing. */
import { COUNTER, type Counter } from '../../base/memory/port-counters.js';
import { Batch, BATCH_FRAMES } from '../forwarding/port.js';
import { AT_ONCE, NEVER, type Timing } from './delays.js';
import { FrameQueue } from './frame-queue.js';
import { TOGETHER_MS, type Due, type Schedule } from './schedule.js';
import type { Stage, StageContext } from './stage.js';

export interface HoldingContext extends StageContext {
  readonly schedule: Schedule;
  /** Sends the frames that devices have made of a batch, and empties the workspace of frame memory. */
  readonly deliverPending: () => void;
}

/** The most frames that one call of `run` delivers, so that others have their turn. */
const FRAMES_A_RUN = 1024;

/**
 * The frames that a stage holds until they are due. Due frames go on in batches, each a turn of its own: the previous
 * batch has left the engine and its copies are forgotten. So `run` must not be called while frames are on their way.
 */
export class HeldFrames implements Due {
  readonly #context: HoldingContext;
  readonly #next: Stage;
  readonly #queue = new FrameQueue();
  readonly #batch = new Batch();
  /** Stays true while `run` is under way. */
  #isScheduled = false;

  constructor(context: HoldingContext, next: Stage) {
    this.#context = context;
    this.#next = next;
  }

  get dueAt(): number {
    return this.#queue.dueAt;
  }

  get isEmpty(): boolean {
    return this.#queue.count === 0;
  }

  /** Holds a frame; returns whether there was room. Frames go on in the order in which they were kept. */
  keep(offset: number, length: number, dueAt: number): boolean {
    const { memory, schedule } = this.#context;
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
    if (this.#isScheduled) this.#context.schedule.add(this);
  }

  /** Passes all frames on at once, to another stage. */
  flush(next: Stage): void {
    this.#release(Number.MAX_VALUE, Infinity, next);
    this.#unschedule();
  }

  /** Drops all frames, counted as held back. */
  drop(): void {
    this.#context.port.count(COUNTER.held_back, this.#queue.count);
    this.#queue.clear();
    this.#unschedule();
  }

  #unschedule(): void {
    this.#context.schedule.remove(this);
    this.#isScheduled = false;
  }

  /** Releases only frames that were held at the start: in a loop of links, others come back meanwhile. */
  #release(until: number, most: number, next: Stage): void {
    const { port, deliverPending } = this.#context;
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

  /** Fills the batch with frames that are due, as far as the workspace has room. */
  #fill(most: number, until: number): void {
    const { memory } = this.#context;
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

export interface TimedContext extends HoldingContext {
  /** In milliseconds; never goes back. */
  readonly clock: () => number;
}

/** Passes frames on when their time has come, and drops frames that it has no room to hold. */
export class TimedStage implements Stage {
  readonly held: HeldFrames;
  readonly #timing: Timing;
  readonly #cause: Counter;
  readonly #context: TimedContext;
  readonly #next: Stage;
  #lastDue = -Infinity;

  /** Dropped frames are counted as `cause`. */
  constructor(timing: Timing, cause: Counter, context: TimedContext, next: Stage) {
    this.held = new HeldFrames(context, next);
    this.#timing = timing;
    this.#cause = cause;
    this.#context = context;
    this.#next = next;
  }

  pass(frames: Batch): void {
    const { offsets, lengths, count } = frames;
    const now = this.#context.clock();
    let passing = 0;
    let dropped = 0;
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      const length = lengths[index] ?? 0;
      const dueAt = this.#timing.dueAt(length, now, this.#lastDue);
      if (dueAt === AT_ONCE || (this.held.isEmpty && dueAt <= now + TOGETHER_MS)) {
        offsets[passing] = offset;
        lengths[passing] = length;
        passing++;
      } else if (dueAt === NEVER || !this.held.keep(offset, length, dueAt)) {
        dropped++;
        continue;
      }
      if (dueAt !== AT_ONCE) this.#lastDue = dueAt;
    }
    frames.count = passing;
    const { port, hits } = this.#context;
    if (dropped > 0) port.count(this.#cause, dropped);
    if (passing < count) port.count(hits, count - passing);
    if (passing > 0) this.#next.pass(frames);
  }
}
