/** One thing that is done to frames on their way, and what is behind it. */
import type { Batch } from '../forwarding/port.js';

export interface Stage {
  /**
   * Takes frames and hands on what goes on now, in one batch at most. References of the batch may be moved about,
   * frames are not written to: others may hold them, too.
   */
  pass(frames: Batch): void;
}
