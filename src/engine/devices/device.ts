/**
 * A device moves frames between its ports and knows nothing else: no sockets, no threads, no clock of its own.
 * Settings speak of port numbers, whether or not such a port is attached yet.
 */
import type { Batch, Outbox, Port } from '../forwarding/port.js';
import type { FrameMemory } from '../forwarding/frame-memory.js';
import type { BpfProgram, Matcher } from '../wire/bpf.js';

/** What the devices of one engine share. */
export interface Fabric {
  readonly memory: FrameMemory;
  readonly outbox: Outbox;
  /** Float64 counters of connections, by the index that settings name. */
  readonly connectionCounters: Float64Array;
  /** Seconds on a clock that never goes back, read once a turn. */
  seconds: number;
}

export interface Device<Settings> {
  /** Applies the difference to what runs; never disturbs what stays the same. Settings have been validated. */
  configure(settings: Settings): void;
  attach(port: Port): void;
  detach(port: Port): void;
  /**
   * Takes frames that came in on a port: each is sent, dropped or consumed, and counted as such at `port`. A
   * drop is counted by its cause; each frame sent beyond the first of a flood is a copy.
   */
  receive(port: Port, frames: Batch): void;
  /** What the device has learnt and how its connections stand, as plain data. */
  inspect(): unknown;
}

/** Links of different media are never fused: devices of one of them change frames in place. */
export type Medium = 'ethernet' | 'serial';

/** A kind of device: how one is made, and how its frames are to be treated. */
export interface DeviceType<Settings> {
  readonly make: (fabric: Fabric) => Device<Settings>;
  readonly medium: Medium;
  /** Makes a matcher of a filter for the frames of such a device. */
  readonly matcherOf: (program: BpfProgram) => Matcher;
}
