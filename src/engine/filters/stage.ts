/** The stages of a filter chain: each does one thing to frames on their way, and passes them on to the next. */
import type { HitCounter } from '../../base/memory/port-counters.js';
import type { Batch, Port } from '../forwarding/port.js';
import type { FrameMemory } from '../forwarding/frame-memory.js';

export interface Stage {
  /**
   * Takes frames, and passes on those that go on now, in one batch at most. Stages may rearrange the references of the
   * batch, but must not write to the frames: others may hold them, too.
   */
  pass(frames: Batch): void;
}

export interface StageContext {
  /** The port at which drops are counted. */
  readonly port: Port;
  /** The counter of the frames on which the stage acts. */
  readonly hits: HitCounter;
  readonly memory: FrameMemory;
}
