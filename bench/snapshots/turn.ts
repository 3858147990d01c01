/** The cost of one stage for one side. */
import type { Delay } from '../files/loop-delay.js';

export interface Turn {
  /** Until it is done, and the disk has it. */
  readonly seconds: number;
  /** With what is done after the answer. */
  readonly cpuSeconds: number;
  readonly writtenMiB: number;
  /** Only a server has these. */
  readonly served?: Served;
}

export interface Served {
  readonly loop: Delay;
  /** The time of the work that goes on behind the answer. */
  readonly secondsAfterwards: number;
  /** For a sync of the whole file system after all that: what the answer did not wait for. */
  readonly syncSeconds: number;
}
