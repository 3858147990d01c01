/**
 * The counters of ports, in one block of shared memory per engine, a row of Float64 per port. Only the engine writes, all
 * threads may read, and a row outlives the engine that wrote it. Readers reset counters by a baseline of their own.
 *
 * For a device, over all its ports: frames_in + copies + originated = frames_out + consumed + drops + frames that wait in
 * filters.
 */

/** The index of each counter in its row. */
export const COUNTER = {
  frames_in: 0,
  octets_in: 1,
  frames_out: 2,
  octets_out: 3,
  /** Additional frames that a flood or a filter made of one. */
  copies: 4,
  /** Frames addressed to the device itself. */
  consumed: 5,
  /** Frames that the device sent on its own behalf. */
  originated: 6,
  /** Cells whose header error control was wrong, dropped or not. */
  bad_hec: 7,
  /** Frames that a filter has altered. */
  corrupted: 8,
  // From here on: the causes of drops.
  empty: 9,
  oversize: 10,
  malformed: 11,
  bad_hec_refused: 12,
  /** There is no connection for the label of the frame. */
  no_connection: 13,
  /** Nothing is attached to the port where the frame should leave. */
  no_output: 14,
  vlan_mismatch: 15,
  /** The frame would leave at the port where it came in. */
  same_port: 16,
  suspended: 17,
  /** The frame passed too many fused links within one turn: a loop. */
  hop_limit: 18,
  queue_full: 19,
  no_memory: 20,
  too_big_for_route: 21,
  send_failed: 22,
  send_buffer_full: 23,
  // Frames that filters had to drop, and frames that they had no room to hold.
  filter_bpf: 24,
  filter_frequency: 25,
  filter_loss: 26,
  rate_full: 27,
  delay_full: 28,
  /** The frame waited in a filter when its port was detached or suspended. */
  held_back: 29,
  /** The frame was for the host of a NAT node itself, or is nothing that a NAT node carries. */
  nat_refused: 30,
} as const;

export type CounterName = keyof typeof COUNTER;
export type Counter = (typeof COUNTER)[CounterName];

export const COUNTER_NAMES = Object.keys(COUNTER) as readonly CounterName[];
export const DROP_CAUSES = COUNTER_NAMES.slice(COUNTER.empty);

/** So many kinds of filters may be on a port. */
const FILTER_KINDS = 8;
export type FilterWay = 'outward' | 'inward';
declare const HIT: unique symbol;
/** The index of the hits of one filter in a row: frames that it has dropped, altered, copied or held. */
export type HitCounter = number & { readonly [HIT]: true };

/** Hits lie behind the counters of a row; `kind` is the place of the filter among its kinds. */
export function hitCounter(way: FilterWay, kind: number): HitCounter {
  return (ROW_LENGTH - FILTER_KINDS * (way === 'outward' ? 2 : 1) + kind) as HitCounter;
}

/** A power of two, with room for counters to come. */
export const ROW_LENGTH = 64;
