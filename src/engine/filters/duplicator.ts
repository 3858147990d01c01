/** Passes some frames on twice, one right behind the other. The copy has its own memory: devices write into frames. */
import { COUNTER, type HitCounter } from '../../base/memory/port-counters.js';
import { Batch, BATCH_FRAMES } from '../forwarding/port.js';
import type { FrameMemory } from '../forwarding/frame-memory.js';
import { HeldFrames, type HoldingContext } from './timed-stage.js';
import type { RandomStream } from './random-stream.js';
import type { Stage } from './stage.js';

/** A due time that has passed long ago: at the next opportunity. */
const OVERDUE = 0;

export class Duplicator implements Stage {
  /** The frames that do not fit into one batch: behind a port there is room for one batch at a time. */
  readonly surplus: HeldFrames;
  readonly #percent: number;
  readonly #random: RandomStream;
  readonly #port: HoldingContext['port'];
  readonly #hits: HitCounter;
  readonly #memory: FrameMemory;
  readonly #next: Stage;
  readonly #batch = new Batch();

  constructor(percent: number, random: RandomStream, context: HoldingContext, next: Stage) {
    this.surplus = new HeldFrames(context, next);
    this.#percent = percent;
    this.#random = random;
    this.#port = context.port;
    this.#hits = context.hits;
    this.#memory = context.memory;
    this.#next = next;
  }

  pass(frames: Batch): void {
    const { offsets, lengths, count } = frames;
    let copies = 0;
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      const length = lengths[index] ?? 0;
      this.#put(offset, length);
      if (!this.#random.chance(this.#percent)) continue;
      copies++;
      this.#putCopy(offset, length);
    }
    this.#port.count(COUNTER.copies, copies);
    this.#port.count(this.#hits, copies);
    const batch = this.#batch;
    if (batch.count > 0) this.#next.pass(batch);
    batch.count = 0;
  }

  #put(offset: number, length: number): void {
    if (this.#hasRoom) this.#batch.add(offset, length);
    else if (!this.surplus.keep(offset, length, OVERDUE)) this.#port.count(COUNTER.delay_full);
  }

  #putCopy(offset: number, length: number): void {
    if (!this.#hasRoom) {
      // A held frame is a copy anyway.
      this.#put(offset, length);
      return;
    }
    const copy = this.#memory.take(length);
    if (copy < 0) {
      this.#port.count(COUNTER.no_memory);
      return;
    }
    this.#memory.bytes.copyWithin(copy, offset, offset + length);
    this.#batch.add(copy, length);
  }

  get #hasRoom(): boolean {
    return this.surplus.isEmpty && this.#batch.count < BATCH_FRAMES;
  }
}
