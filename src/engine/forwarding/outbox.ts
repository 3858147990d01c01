/**
 * Gathers what a device sends, port by port. It is emptied after every batch that a device has received: as each
 * frame goes to a port once at most, what leaves at a port fits into a batch, too.
 */
import { Batch } from './batch.js';
import type { Port } from './port.js';

export class Outbox {
  readonly #spare: Batch[] = [];
  #touched: Port[] = [];
  #resting: Port[] = [];

  send(port: Port, offset: number, length: number): void {
    (port.outgoing ?? this.#open(port)).add(offset, length);
  }

  /** Hands over what every port has to send, in the order in which ports were first sent to. */
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
