/**
 * A device moves frames between its ports, and knows nothing else: no sockets, no threads, no clock of its own. Settings
 * refer to port numbers, whether or not such a port is attached yet.
 */
import type { Batch, Outbox, Port } from '../forwarding/port.js';
import type { FrameMemory } from '../forwarding/frame-memory.js';
import type { BpfProgram, Matcher } from '../wire/bpf.js';

/** Shared by the devices of one engine. */
export interface Fabric {
  readonly memory: FrameMemory;
  readonly outbox: Outbox;
  /** The counters of connections, by the index in the settings. */
  readonly connectionCounters: Float64Array;
  /** Seconds on a clock that never goes back, read once per turn. */
  seconds: number;
}

export interface Device<Settings> {
  /** Applies the difference to the current settings, and never disturbs what stays the same. Settings are valid. */
  configure(settings: Settings): void;
  attach(port: Port): void;
  detach(port: Port): void;
  /**
   * Takes frames that came in at a port. Each is sent, dropped or consumed, and counted as such at `port`: a drop by its
   * cause, and each frame of a flood beyond the first as a copy.
   */
  receive(port: Port, frames: Batch): void;
  /** The tables that the device has learnt and the state of its connections, as plain data. */
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
  /** Whether frames may come in that travel with an offload: it passes them on as they are, but for their tags. */
  readonly takesOffloads: boolean;
}
