/** One port of a device: a number that its settings speak of, its counters, and what is about to leave. */
import type { Counter } from '../memory/port-counters.js';
import type { Batch } from './batch.js';

export class Port {
  readonly number: number;
  readonly #counters: Float64Array;
  readonly #row: number;
  /** What the device has sent here since the outbox was last emptied. */
  outgoing: Batch | undefined;

  /** `row` is where the counters of this port begin. */
  constructor(number: number, counters: Float64Array, row: number) {
    this.number = number;
    this.#counters = counters;
    this.#row = row;
  }

  count(counter: Counter, by = 1): void {
    const index = this.#row + counter;
    this.#counters[index] = (this.#counters[index] ?? 0) + by;
  }
}
