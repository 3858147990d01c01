/** Lets frames go on when their time has come, and drops what it cannot hold so long. */
import type { Counter } from '../../base/memory/port-counters.js';
import type { Batch } from '../forwarding/port.js';
import { Hold, type HoldSurroundings } from './hold.js';
import { TOGETHER_MS } from './schedule.js';
import type { Stage } from './stage.js';
import { AT_ONCE, NEVER, type Timing } from './timing.js';

export interface TimedSurroundings extends HoldSurroundings {
  /** Milliseconds; never goes back. */
  readonly clock: () => number;
}

export class TimedStage implements Stage {
  readonly hold: Hold;
  readonly #timing: Timing;
  readonly #cause: Counter;
  readonly #surroundings: TimedSurroundings;
  readonly #next: Stage;
  #lastDue = -Infinity;

  /** `cause` is what is counted of dropped frames. */
  constructor(timing: Timing, cause: Counter, surroundings: TimedSurroundings, next: Stage) {
    this.hold = new Hold(surroundings, next);
    this.#timing = timing;
    this.#cause = cause;
    this.#surroundings = surroundings;
    this.#next = next;
  }

  pass(frames: Batch): void {
    const { offsets, lengths, count } = frames;
    const now = this.#surroundings.clock();
    let passing = 0;
    let dropped = 0;
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      const length = lengths[index] ?? 0;
      const dueAt = this.#timing.dueAt(length, now, this.#lastDue);
      if (dueAt === AT_ONCE || (this.hold.isEmpty && dueAt <= now + TOGETHER_MS)) {
        offsets[passing] = offset;
        lengths[passing] = length;
        passing++;
      } else if (dueAt === NEVER || !this.hold.keep(offset, length, dueAt)) {
        dropped++;
        continue;
      }
      if (dueAt !== AT_ONCE) this.#lastDue = dueAt;
    }
    frames.count = passing;
    if (dropped > 0) this.#surroundings.port.count(this.#cause, dropped);
    if (passing > 0) this.#next.pass(frames);
  }
}
