/** Records the frames of a port into a log. */
import type { Batch } from '../forwarding/port.js';
import type { Aal5Memory } from './aal5-memory.js';
import type { LogAppender } from './log-appender.js';
import type { ByteSpan } from './byte-span.js';
import { Aal5Frames, ErfCells, WholeFrames, type Packets } from './packets.js';
import { Recorder } from './recorder.js';
import type { TapClock } from './tap-clock.js';
import type { TapPlan } from './tap-plan.js';

/** Shared by all taps of an engine. */
export interface TapContext {
  /** The memory that frames lie in. */
  readonly frames: ByteSpan;
  readonly clock: TapClock;
  readonly aal5: Aal5Memory;
}

export class Tap {
  readonly #log: LogAppender;
  readonly #clock: TapClock;
  readonly #packets: Packets;
  readonly #recorder: Recorder;
  readonly #takesIn: boolean;
  readonly #takesOut: boolean;

  constructor(plan: TapPlan, log: LogAppender, context: TapContext) {
    this.#log = log;
    this.#clock = context.clock;
    this.#packets = packetsOf(plan, context);
    this.#recorder = new Recorder(plan, this.#packets.leastKept, log, context.clock);
    this.#takesIn = plan.direction !== 'out';
    this.#takesOut = plan.direction !== 'in';
  }

  /** Frames are not changed. `direction` is as seen from the device. */
  record(direction: 'in' | 'out', frames: Batch): void {
    const isOut = direction === 'out';
    if (this.#log.isEnded || !(isOut ? this.#takesOut : this.#takesIn)) return;
    this.#clock.read();
    this.#packets.take(frames, isOut, this.#recorder);
    this.#log.publish(this.#clock.milliseconds);
  }

  /** Writes the closing block of its interface. */
  close(): void {
    this.#packets.close();
    this.#recorder.close();
  }
}

function packetsOf({ packets }: TapPlan, { frames, clock, aal5 }: TapContext): Packets {
  switch (packets) {
    case 'frames':
      return new WholeFrames(frames);
    case 'aal5':
      return new Aal5Frames(frames, clock, aal5);
    case 'cells':
      return new ErfCells(frames, clock);
  }
}
