/**
 * A port with what it is attached to, and what lies between: on the way out filters, taps, the link; on the way in
 * filters, taps, the device. Without filters and taps nothing lies between and nothing is paid for.
 */
import { COUNTER, ROW_LENGTH } from '../../base/memory/port-counters.js';
import type { BpfProgram, Matcher } from '../wire/bpf.js';
import type { Batch } from './batch.js';
import type { Device } from '../devices/device.js';
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
  /** How expressions see the frames of the device. */
  readonly matcherOf: (program: BpfProgram) => Matcher;
}

/** What frames pass on one way. */
export interface PortFilter {
  /** Takes frames: those that pass are delivered at once or later. */
  pass(frames: Batch): void;
  /** Delivers everything that waits; the filter is not used any more. */
  flush(): void;
  /** Drops everything that waits; the filter is not used any more. */
  drop(): void;
}

export interface Filters {
  readonly outward: PortFilter | undefined;
  readonly inward: PortFilter | undefined;
}

/** Sees what passes, and changes nothing. */
export interface PortTap {
  /** As seen from the device. */
  record(direction: 'in' | 'out', frames: Batch): void;
  close(): void;
}

const SUSPENDED: Exit = {
  send: (port, frames) => {
    port.count(COUNTER.suspended, frames.count);
  },
};
const NO_FILTERS: Filters = { outward: undefined, inward: undefined };

export class AttachedPort extends Port {
  readonly place: Place;
  /** The other end of its link, when that is of the same engine: frames then move by reference. */
  peer: AttachedPort | undefined;
  /** What the peer has sent and the device has not taken yet; empty between turns. */
  inbox: Batch | undefined;
  readonly #taps = new Map<number, PortTap>();
  #tapList: readonly PortTap[] = [];
  #filters = NO_FILTERS;
  #link: Link | undefined;
  #way: Exit = NOWHERE;
  #isSuspended: boolean;

  constructor(place: Place, counters: Float64Array, row: number, isSuspended: boolean) {
    super(place.number, counters, row * ROW_LENGTH);
    this.place = place;
    this.#isSuspended = isSuspended;
  }

  get link(): Link | undefined {
    return this.#link;
  }

  set link(link: Link | undefined) {
    this.#link = link;
    this.linkBy(link ?? NOWHERE);
  }

  /** Where frames go behind everything that lies between. */
  linkBy(way: Exit): void {
    this.#way = way;
    this.#compose();
  }

  /**
   * What waits in the filters so far goes on its way, or is dropped when the port is suspended. What follows from it
   * passes the new ones.
   */
  setPolicy(isSuspended: boolean, filters: Filters): void {
    const { outward, inward } = this.#filters;
    this.#isSuspended = isSuspended;
    this.#filters = filters;
    this.#compose();
    for (const chain of [outward, inward]) {
      if (isSuspended) chain?.drop();
      else chain?.flush();
    }
  }

  tap(number: number, tap: PortTap): void {
    this.#taps.set(number, tap);
    this.#retap();
  }

  untap(number: number): void {
    const tap = this.#taps.get(number);
    if (tap === undefined) throw new Error(`there is no tap ${number}`);
    this.#taps.delete(number);
    this.#retap();
    tap.close();
  }

  /** Nothing leaves or enters any more. */
  close(): void {
    for (const chain of [this.#filters.outward, this.#filters.inward]) chain?.drop();
    for (const number of [...this.#taps.keys()]) this.untap(number);
  }

  /** Gives frames, counted as come in, to what lies between and then to the device. */
  fromLink(frames: Batch): void {
    if (this.#isSuspended) this.count(COUNTER.suspended, frames.count);
    else if (this.#filters.inward === undefined) this.toDevice(frames);
    else this.#filters.inward.pass(frames);
  }

  /** What has passed the filters on its way in. */
  toDevice(frames: Batch): void {
    for (const tap of this.#tapList) tap.record('in', frames);
    this.place.device.receive(this, frames);
  }

  /** What has passed the filters on its way out. */
  toLink(frames: Batch): void {
    for (const tap of this.#tapList) tap.record('out', frames);
    this.#way.send(this, frames);
  }

  #retap(): void {
    this.#tapList = [...this.#taps.values()];
    this.#compose();
  }

  #compose(): void {
    const { outward } = this.#filters;
    if (this.#isSuspended) this.exit = SUSPENDED;
    else if (outward !== undefined) {
      this.exit = {
        send: (_port, frames) => {
          outward.pass(frames);
        },
      };
    } else if (this.#tapList.length > 0) {
      this.exit = {
        send: (_port, frames) => {
          this.toLink(frames);
        },
      };
    } else this.exit = this.#way;
  }
}
