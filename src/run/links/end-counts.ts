/** The counters of one end of a link, as the ends of links across hosts are told. */
import { COUNTER } from '../../base/memory/port-counters.js';
import type { RunningDevice } from '../../engine/control/running-device.js';

/** Frames and octets out, frames and octets in, frames that filters dropped, and other drops. */
type EndColumns = [number, number, number, number, number, number];

export interface LinkEndCounts {
  /** The moment from which they count, by the clock of this host. */
  readonly since: number;
  readonly counts: EndColumns;
}

/** The counts of a port since it was attached or its counters were reset. */
export function endCountsOf(device: RunningDevice, port: number): LinkEndCounts {
  return {
    since: device.countsSince(port),
    counts: [
      device.count(port, COUNTER.frames_out),
      device.count(port, COUNTER.octets_out),
      device.count(port, COUNTER.frames_in),
      device.count(port, COUNTER.octets_in),
      device.count(port, COUNTER.filter_bpf, COUNTER.held_back),
      otherDropsAt(device, port),
    ],
  };
}

/** Frames that were dropped at a port, but not by the filters of its link. */
export function otherDropsAt(device: RunningDevice, port: number): number {
  return (
    device.count(port, COUNTER.empty, COUNTER.send_buffer_full) + device.count(port, COUNTER.nat_refused)
  );
}
