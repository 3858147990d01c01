/** What one side took for one stage. */
import type { Delay } from '../files/loop-delay.js';

export interface Turn {
  /** Until it is done, and the disk has it. */
  readonly seconds: number;
  /** With what is done after the answer. */
  readonly cpuSeconds: number;
  readonly writtenMiB: number;
  /** Of a server. */
  readonly served?: Served;
}

export interface Served {
  readonly loop: Delay;
  /** What goes on behind the answer. */
  readonly secondsAfterwards: number;
  /** For a sync of the whole file system after all that: what the answer did not wait for. */
  readonly syncSeconds: number;
}
