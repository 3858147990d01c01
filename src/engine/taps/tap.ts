/** Records what passes a port into a log. */
import type { Batch } from '../forwarding/batch.js';
import type { Aal5Memory } from './aal5-memory.js';
import type { LogWriter } from './log-writer.js';
import type { Octets } from './octets.js';
import { Aal5Frames, ErfCells, WholeFrames, type Packets } from './packets.js';
import { Recorder } from './recorder.js';
import type { TapClock } from './tap-clock.js';
import type { TapPlan } from './tap-plan.js';

/** What all taps of an engine share. */
export interface TapPlace {
  /** What frames lie in. */
  readonly octets: Octets;
  readonly clock: TapClock;
  readonly aal5: Aal5Memory;
}

export class Tap {
  readonly #log: LogWriter;
  readonly #clock: TapClock;
  readonly #packets: Packets;
  readonly #recorder: Recorder;
  readonly #takesIn: boolean;
  readonly #takesOut: boolean;

  constructor(plan: TapPlan, log: LogWriter, place: TapPlace) {
    this.#log = log;
    this.#clock = place.clock;
    this.#packets = packetsOf(plan, place);
    this.#recorder = new Recorder(plan, this.#packets.leastKept, log, place.clock);
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

  /** Puts into the log what has to be said last. */
  close(): void {
    this.#packets.close();
    this.#recorder.close();
  }
}

function packetsOf({ packets }: TapPlan, { octets, clock, aal5 }: TapPlace): Packets {
  switch (packets) {
    case 'frames':
      return new WholeFrames(octets);
    case 'aal5':
      return new Aal5Frames(octets, clock, aal5);
    case 'cells':
      return new ErfCells(octets, clock);
  }
}
