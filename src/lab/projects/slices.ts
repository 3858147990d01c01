/** Divides long work of the HTTP thread into slices, so that requests are answered in between. */
import { setImmediate } from 'node:timers/promises';

const SLICE_MS = 2;

export class Slices {
  #begun = performance.now();

  /** To be called between two steps. Waits for a turn of the event loop when the slice is over. */
  async rest(): Promise<void> {
    if (performance.now() - this.#begun < SLICE_MS) return;
    await setImmediate();
    this.#begun = performance.now();
  }
}
