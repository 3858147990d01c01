/**
 * What is counted at a port. The counters of an engine are one block of shared memory, a row of Float64 a port:
 * the engine alone writes, everybody reads, and a row outlives the engine that wrote it. What is reset is a
 * baseline that the reader keeps.
 *
 * Of a device: frames_in + copies + originated = frames_out + consumed + the drops at all its ports, apart from
 * what waits in filters.
 */

/** Where each counter lies in its row. */
export const COUNTER = {
  frames_in: 0,
  octets_in: 1,
  frames_out: 2,
  octets_out: 3,
  /** Frames that a flood or a filter made of one. */
  copies: 4,
  /** Frames that were for the device itself. */
  consumed: 5,
  /** Frames that the device sent of its own. */
  originated: 6,
  /** Cells whose header error control was wrong, dropped or not. */
  bad_hec: 7,
  /** Frames that a filter has altered. */
  corrupted: 8,
  // From here on: why a frame went no further.
  empty: 9,
  oversize: 10,
  malformed: 11,
  bad_hec_refused: 12,
  /** No connection for its label. */
  no_connection: 13,
  /** Nothing is attached where it should leave. */
  no_output: 14,
  vlan_mismatch: 15,
  /** It would leave where it came in. */
  same_port: 16,
  suspended: 17,
  /** It passed too many fused links within one turn: a loop. */
  hop_limit: 18,
  queue_full: 19,
  no_memory: 20,
  too_big_for_route: 21,
  send_failed: 22,
  send_buffer_full: 23,
  // What filters were told to drop, and what they could not hold.
  filter_bpf: 24,
  filter_frequency: 25,
  filter_loss: 26,
  rate_full: 27,
  delay_full: 28,
  /** It waited in a filter when its port was detached or suspended. */
  held_back: 29,
} as const;

export type CounterName = keyof typeof COUNTER;
export type Counter = (typeof COUNTER)[CounterName];

export const COUNTER_NAMES = Object.keys(COUNTER) as readonly CounterName[];
export const DROP_CAUSES = COUNTER_NAMES.slice(COUNTER.empty);

/** A power of two, with room for counters to come. */
export const ROW_LENGTH = 32;
