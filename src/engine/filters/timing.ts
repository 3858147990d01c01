/** When frames go on that have to wait. */
import type { RandomStream } from './random-stream.js';

export interface Timing {
  /**
   * When a frame that comes now goes on, not before the one before it: `lastDue` is that time. Or AT_ONCE, which
   * overtakes whatever waits, or NEVER.
   */
  dueAt(length: number, now: number, lastDue: number): number;
}

export const AT_ONCE = -Infinity;
export const NEVER = Infinity;

/** Some stay behind for a while, and the others overtake them. */
export class Laggards implements Timing {
  readonly #percent: number;
  readonly #holdMs: number;
  readonly #random: RandomStream;

  constructor(percent: number, holdMs: number, random: RandomStream) {
    this.#percent = percent;
    this.#holdMs = holdMs;
    this.#random = random;
  }

  dueAt(_length: number, now: number): number {
    return this.#random.chance(this.#percent) ? now + this.#holdMs : AT_ONCE;
  }
}

/** A line that sends one bit after the other: a frame has arrived with its last bit. */
export class SerialLine implements Timing {
  readonly #octetMs: number;
  readonly #queueMs: number;

  /** A frame waits so long at most until its first bit is sent. */
  constructor(kilobits: number, queueMs: number) {
    this.#octetMs = 8 / kilobits;
    this.#queueMs = queueMs;
  }

  dueAt(length: number, now: number, lastDue: number): number {
    const start = Math.max(now, lastDue);
    return start - now > this.#queueMs ? NEVER : start + length * this.#octetMs;
  }
}
