/** The delays that filters give to frames. */
import type { RandomStream } from './random-stream.js';

export interface Timing {
  /**
   * The time at which a frame that comes now goes on; `lastDue` is the time of the frame before it, and the result is
   * not earlier. Or AT_ONCE, which overtakes waiting frames, or NEVER, which drops the frame.
   */
  dueAt(length: number, now: number, lastDue: number): number;
}

export const AT_ONCE = -Infinity;
export const NEVER = Infinity;

/** Holds some frames for a while, so that the others overtake them. */
export class Reordering implements Timing {
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

/** A line that sends one bit after the other: a frame goes on when its last bit has been sent. */
export class SerialLine implements Timing {
  readonly #byteMs: number;
  readonly #queueMs: number;

  /** A frame waits at most `queueMs` until its first bit is sent. */
  constructor(kilobits: number, queueMs: number) {
    this.#byteMs = 8 / kilobits;
    this.#queueMs = queueMs;
  }

  dueAt(length: number, now: number, lastDue: number): number {
    const start = Math.max(now, lastDue);
    return start - now > this.#queueMs ? NEVER : start + length * this.#byteMs;
  }
}

/** The duration of a segment, in multiples of the jitter: the delay then changes by at most half of the passing time. */
const SEGMENT = 4;

/**
 * A delay with jitter that never reorders frames, at any rate. It wanders in a straight line from one random value
 * within the jitter to the next, so slowly that a later frame is never due earlier. The mean is the latency.
 */
export class WanderingDelay implements Timing {
  readonly #latencyMs: number;
  readonly #jitterMs: number;
  readonly #random: RandomStream;
  readonly #segmentMs: number;
  #from = 0;
  #to = 0;
  #segmentEnd = -Infinity;
  #lastSeen = -Infinity;

  constructor(latencyMs: number, jitterMs: number, random: RandomStream) {
    this.#latencyMs = latencyMs;
    this.#jitterMs = jitterMs;
    this.#random = random;
    this.#segmentMs = SEGMENT * jitterMs;
  }

  dueAt(_length: number, now: number): number {
    if (this.#jitterMs === 0) return now + this.#latencyMs;
    return now + Math.max(0, this.#latencyMs + this.#deviationAt(now));
  }

  #deviationAt(now: number): number {
    if (now - this.#lastSeen > this.#segmentMs) {
      // Frames of so long ago have gone on, so a new value cannot make this one overtake them.
      this.#to = this.#anyDeviation();
      this.#segmentEnd = now;
    }
    this.#lastSeen = now;
    while (now >= this.#segmentEnd) {
      this.#from = this.#to;
      this.#to = this.#anyDeviation();
      this.#segmentEnd += this.#segmentMs;
    }
    const left = (this.#segmentEnd - now) / this.#segmentMs;
    return this.#to + (this.#from - this.#to) * left;
  }

  #anyDeviation(): number {
    return (2 * this.#random.next() - 1) * this.#jitterMs;
  }
}
