/** Work of the HTTP thread that takes long is done in slices, between which others have their turn. */
import { setImmediate } from 'node:timers/promises';

const SLICE_MS = 2;

export class Slices {
  #begun = performance.now();

  /** Between two steps; waits when the slice is over. */
  async rest(): Promise<void> {
    if (performance.now() - this.#begun < SLICE_MS) return;
    await setImmediate();
    this.#begun = performance.now();
  }
}
