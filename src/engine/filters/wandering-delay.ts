/**
 * A delay that wanders: from one random value within the jitter to the next in a straight line, slowly enough that
 * what comes later is never due earlier. So jitter does not reorder, whatever the rate of frames, and the mean is the
 * latency.
 */
import type { RandomStream } from './random-stream.js';
import type { Timing } from './timing.js';

/** How long it is on its way to the next value, in times of the jitter: it changes by half of a passing time at most. */
const SEGMENT = 4;

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
      // Whatever was sent so long ago has gone: there is nothing to keep behind.
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
