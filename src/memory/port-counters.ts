/**
 * What is counted at a port. The counters of an engine are one block of shared memory, a row of Float64 a port:
 * the engine alone writes, everybody reads, and a row outlives the engine that wrote it. What is reset is a
 * baseline that the reader keeps.
 *
 * Of a device: frames_in + copies + originated = frames_out + consumed + the drops at all its ports.
 */

/** Where each counter lies in its row. */
export const COUNTER = {
  frames_in: 0,
  octets_in: 1,
  frames_out: 2,
  octets_out: 3,
  /** Frames that a flood made of one. */
  copies: 4,
  /** Frames that were for the device itself. */
  consumed: 5,
  /** Frames that the device sent of its own. */
  originated: 6,
  /** Cells whose header error control was wrong, dropped or not. */
  bad_hec: 7,
  // From here on: why a frame went no further.
  empty: 8,
  oversize: 9,
  malformed: 10,
  bad_hec_refused: 11,
  /** No connection for its label. */
  no_connection: 12,
  /** Nothing is attached where it should leave. */
  no_output: 13,
  vlan_mismatch: 14,
  /** It would leave where it came in. */
  same_port: 15,
  suspended: 16,
  /** It passed too many fused links within one turn: a loop. */
  hop_limit: 17,
  queue_full: 18,
  no_memory: 19,
  too_big_for_route: 20,
  send_failed: 21,
  send_buffer_full: 22,
} as const;

export type CounterName = keyof typeof COUNTER;
export type Counter = (typeof COUNTER)[CounterName];

export const COUNTER_NAMES = Object.keys(COUNTER) as readonly CounterName[];
export const DROP_CAUSES = COUNTER_NAMES.slice(COUNTER.empty);

/** A power of two, with room for counters to come. */
export const ROW_LENGTH = 32;
