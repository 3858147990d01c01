/** A port with what it is attached to. */
import { COUNTER, ROW_LENGTH } from '../memory/port-counters.js';
import type { Batch } from './batch.js';
import type { Device } from './device.js';
import type { Endpoint } from './endpoint.js';
import { NOWHERE, Port, type Exit } from './port.js';
import type { Link } from './transport.js';

/** Links of different media are never fused: devices of one of them change frames in place. */
export type Medium = 'ethernet' | 'serial';

export interface Place {
  readonly number: number;
  readonly device: Pick<Device<never>, 'receive'>;
  readonly medium: Medium;
  readonly endpoint: Endpoint;
  readonly isSuspended: boolean;
}

const SUSPENDED: Exit = {
  send: (port, frames) => {
    port.count(COUNTER.suspended, frames.count);
  },
};

export class AttachedPort extends Port {
  readonly place: Place;
  /** The other end of its link, when that is of the same engine: frames then move by reference. */
  peer: AttachedPort | undefined;
  /** What the peer has sent and the device has not taken yet; empty between turns. */
  inbox: Batch | undefined;
  #link: Link | undefined;

  constructor(place: Place, counters: Float64Array, row: number) {
    super(place.number, counters, row * ROW_LENGTH);
    this.place = place;
  }

  get link(): Link | undefined {
    return this.#link;
  }

  set link(link: Link | undefined) {
    this.#link = link;
    this.leaveBy(link ?? NOWHERE);
  }

  leaveBy(exit: Exit): void {
    this.exit = this.place.isSuspended ? SUSPENDED : exit;
  }

  /** Gives frames, counted as come in, to the device. */
  enter(frames: Batch): void {
    if (this.place.isSuspended) this.count(COUNTER.suspended, frames.count);
    else this.place.device.receive(this, frames);
  }
}
