/** One port of a device, the frames that travel through it in batches, and the outbox that gathers what a device sends. */
import { COUNTER, type Counter, type HitCounter } from '../../base/memory/port-counters.js';

/** The most frames that a device receives at once, and so the most that it sends to one port at once. */
export const BATCH_FRAMES = 256;

/** Frames by reference, in order of arrival: the offset of each in frame memory, and its length. */
export class Batch {
  readonly offsets = new Int32Array(BATCH_FRAMES);
  readonly lengths = new Int32Array(BATCH_FRAMES);
  count = 0;

  /** The caller makes sure that there is room. */
  add(offset: number, length: number): void {
    const index = this.count++;
    this.offsets[index] = offset;
    this.lengths[index] = length;
  }
}

/**
 * Takes the frames that leave at a port, and counts there what became of them: a socket, the other end of a fused link,
 * or a wrapper around one of these.
 */
export interface Exit {
  /** Whether it takes frames that travel with an offload. */
  readonly takesOffloads?: boolean;
  send(port: Port, frames: Batch): void;
}

/** Discards all frames, and counts them as sent. */
export const NOWHERE: Exit = { takesOffloads: true, send: countSent };

export class Port {
  /** The number that the settings of the device use. */
  readonly number: number;
  readonly #counters: Float64Array;
  readonly #row: number;
  exit: Exit = NOWHERE;
  /** The frames that the device has sent here since the outbox was last emptied. */
  outgoing: Batch | undefined;

  /** `row` is the index at which the counters of this port begin. */
  constructor(number: number, counters: Float64Array, row: number) {
    this.number = number;
    this.#counters = counters;
    this.#row = row;
  }

  count(counter: Counter | HitCounter, by = 1): void {
    const index = this.#row + counter;
    this.#counters[index] = (this.#counters[index] ?? 0) + by;
  }
}

export function countSent(port: Port, frames: Batch): void {
  port.count(COUNTER.frames_out, frames.count);
  port.count(COUNTER.octets_out, bytesOf(frames));
}

export function bytesOf(frames: Batch): number {
  let bytes = 0;
  for (let index = 0; index < frames.count; index++) bytes += frames.lengths[index] ?? 0;
  return bytes;
}

/**
 * Gathers the frames that a device sends, port by port. It is emptied after each batch that a device has received:
 * a frame goes to a port at most once, so the frames that leave at one port fit into a batch, too.
 */
export class Outbox {
  readonly #spare: Batch[] = [];
  #touched: Port[] = [];
  #resting: Port[] = [];

  send(port: Port, offset: number, length: number): void {
    (port.outgoing ?? this.#open(port)).add(offset, length);
  }

  /** Delivers the frames of every port, in the order in which the ports were first sent to. */
  empty(deliver: (port: Port, frames: Batch) => void): void {
    const touched = this.#touched;
    this.#touched = this.#resting;
    for (const port of touched) {
      const frames = port.outgoing;
      if (frames === undefined) continue;
      port.outgoing = undefined;
      deliver(port, frames);
      frames.count = 0;
      this.#spare.push(frames);
    }
    touched.length = 0;
    this.#resting = touched;
  }

  #open(port: Port): Batch {
    const frames = this.#spare.pop() ?? new Batch();
    port.outgoing = frames;
    this.#touched.push(port);
    return frames;
  }
}
