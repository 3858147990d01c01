/**
 * A port with its link and its device. Frames pass filters, then taps, then the link on the way out; filters, then taps,
 * then the device on the way in. Without filters and taps, frames go directly and nothing is paid for.
 */
import { COUNTER, ROW_LENGTH } from '../../base/memory/port-counters.js';
import type { BpfProgram, Matcher } from '../wire/bpf.js';
import { NOWHERE, Port, type Batch, type Exit } from './port.js';
import type { Device, Medium } from '../devices/device.js';
import type { PortEndpoint, Link } from './transport.js';

export interface PortContext {
  readonly number: number;
  readonly device: Pick<Device<never>, 'receive'>;
  readonly medium: Medium;
  readonly endpoint: PortEndpoint;
  /** Compiles BPF programs for the frames of the device. */
  readonly matcherOf: (program: BpfProgram) => Matcher;
  /** Whether the device takes frames that travel with an offload. */
  readonly takesOffloads: boolean;
}

/** The filters of one direction. */
export interface PortFilter {
  /** Takes frames; those that pass are delivered at once or later. */
  pass(frames: Batch): void;
  /** Delivers all waiting frames. Call once; nothing may follow. */
  flush(): void;
  /** Drops all waiting frames. Call once; nothing may follow. */
  drop(): void;
}

export interface Filters {
  readonly outward: PortFilter | undefined;
  readonly inward: PortFilter | undefined;
}

/** Sees the frames that pass, and changes nothing. */
interface PortTap {
  /** The direction is as seen from the device. */
  record(direction: 'in' | 'out', frames: Batch): void;
  close(): void;
}

const SUSPENDED: Exit = {
  takesOffloads: true,
  send: (port, frames) => {
    port.count(COUNTER.suspended, frames.count);
  },
};
export const NO_FILTERS: Filters = { outward: undefined, inward: undefined };

export class AttachedPort extends Port {
  readonly context: PortContext;
  /** The other end of its link, if that is in the same engine: frames then move by reference. */
  peer: AttachedPort | undefined;
  /** Frames that the peer has sent and the device has not received yet; undefined between turns. */
  inbox: Batch | undefined;
  readonly #taps = new Map<number, PortTap>();
  #tapList: readonly PortTap[] = [];
  #filters = NO_FILTERS;
  #link: Link | undefined;
  #linkExit: Exit = NOWHERE;
  #isSuspended: boolean;

  constructor(context: PortContext, counters: Float64Array, row: number, isSuspended: boolean) {
    super(context.number, counters, row * ROW_LENGTH);
    this.context = context;
    this.#isSuspended = isSuspended;
  }

  /** Whether frames from the link may come in with an offload: filters and taps want them as a wire has them. */
  get takesOffloads(): boolean {
    const isPlain = this.#filters.inward === undefined && this.#tapList.length === 0;
    return this.#isSuspended || (isPlain && this.context.takesOffloads);
  }

  get link(): Link | undefined {
    return this.#link;
  }

  set link(link: Link | undefined) {
    this.#link = link;
    this.linkBy(link ?? NOWHERE);
  }

  /** Sets where frames go after filters and taps: the link, or the fused path to the peer. */
  linkBy(exit: Exit): void {
    this.#linkExit = exit;
    this.#compose();
  }

  /**
   * Frames that wait in the previous filters are delivered, or dropped when the port is suspended. Frames that devices
   * send in response already pass the new filters.
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

  /** Drops waiting frames and closes the taps. Call once; nothing may follow. */
  close(): void {
    for (const chain of [this.#filters.outward, this.#filters.inward]) chain?.drop();
    for (const number of [...this.#taps.keys()]) this.untap(number);
  }

  /** Takes frames from the link, which are counted as frames in, before the filters. */
  fromLink(frames: Batch): void {
    if (this.#isSuspended) this.count(COUNTER.suspended, frames.count);
    else if (this.#filters.inward === undefined) this.toDevice(frames);
    else this.#filters.inward.pass(frames);
  }

  /** Takes frames that have passed the filters on the way in. */
  toDevice(frames: Batch): void {
    for (const tap of this.#tapList) tap.record('in', frames);
    this.context.device.receive(this, frames);
  }

  /** Takes frames that have passed the filters on the way out. */
  toLink(frames: Batch): void {
    for (const tap of this.#tapList) tap.record('out', frames);
    this.#linkExit.send(this, frames);
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
    } else this.exit = this.#linkExit;
  }
}
