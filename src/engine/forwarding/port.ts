/** One port of a device: a number that its settings speak of, its counters, and where what is sent goes. */
import { COUNTER, type Counter } from '../../base/memory/port-counters.js';
import type { Batch } from './batch.js';

/**
 * Takes what leaves at a port, and counts there what became of it: a socket, the other end of a fused link, or
 * something wrapped around one of these.
 */
export interface Exit {
  send(port: Port, frames: Batch): void;
}

/** Swallows everything, and counts it as sent. */
export const NOWHERE: Exit = { send: countSent };

export class Port {
  readonly number: number;
  readonly #counters: Float64Array;
  readonly #row: number;
  exit: Exit = NOWHERE;
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

export function countSent(port: Port, frames: Batch): void {
  port.count(COUNTER.frames_out, frames.count);
  port.count(COUNTER.octets_out, octetsOf(frames));
}

export function octetsOf(frames: Batch): number {
  let octets = 0;
  for (let index = 0; index < frames.count; index++) octets += frames.lengths[index] ?? 0;
  return octets;
}
