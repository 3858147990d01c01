/**
 * The layout of captured records in shared memory. A **log** is an endless sequence of bytes: whole records, one after
 * the other. Its newest part lies in up to 64 chunks of 64 KiB, taken from the chunks of the engine that writes it.
 * Positions in a log only grow. A word holds the low 32 bits of a position, which is enough because compared positions
 * are never farther apart than the memory of a log. A chunk is identified by its ordinal, the position of its first byte
 * shifted right by 16, of which words hold the low 16 bits.
 *
 * - Only the engine takes and gives back chunks. It writes records plainly, then stores `head`.
 * - The drain (a writer loop to a file, or the HTTP thread to a viewer) loads `head`, reads, then stores `drained`.
 *   Bytes that are not drained are never overwritten: without room a record is dropped and counted.
 * - The HTTP thread reads drained bytes for viewers at the tail: it stores the ordinal of the chunk in `pin`, then loads
 *   `reclaimed`; when the chunk is not reclaimed it may read until it stores NO_PIN. Before the engine reuses a chunk it
 *   stores `reclaimed`, then loads `pin`, and restores `reclaimed` when the chunk is pinned.
 */

const CHUNK_BITS = 16;
export const CHUNK_LENGTH = 1 << CHUNK_BITS;
/** The most chunks of one log: 4 MiB. */
export const CHUNKS_A_LOG = 64;
/** The most logs of one engine. */
export const MOST_LOGS = 4096;
export const NO_PIN = -1;
export const NO_CHUNK = -1;

/** The Int32 words of a log. The numbers of its chunks come last, by ordinal modulo CHUNKS_A_LOG. */
export const LOG = {
  /** Not 0: the log is in use. Set before the first tap, cleared by the engine when it has given back the chunks. */
  active: 0,
  /** The position before which there are only whole records, which may be read. */
  head: 1,
  /** The position before which everything has been read by the drain. */
  drained: 2,
  /** The ordinal of the chunk that is being read for viewers, or NO_PIN. */
  pin: 3,
  /** The ordinal of the oldest chunk that is still in memory. */
  reclaimed: 4,
  /** The reason why recording has ended, one of LOG_END; 0 while it goes on. */
  ended: 5,
  /**
   * One 64-bit number over two words, stored in one step: the number of interfaces that the log describes up to a
   * position (16 bits), and that position (48 bits). Until `head` reaches the position there is one less.
   */
  interfaces: 6,
  chunks: 8,
} as const;
export const LOG_WORDS = LOG.chunks + CHUNKS_A_LOG;

export const LOG_END = { maxPackets: 1, maxOctets: 2 } as const;

/** The Float64 counters of a log. */
export const LOG_COUNTER = {
  /** Records in the log. */
  packets: 0,
  /** The bytes of the packets, before they were cut. */
  octets: 1,
  /** Packets that found no room. */
  dropped: 2,
  /** Times of the first and of the last packet, in milliseconds since 1970; 0 before there is one. */
  firstAt: 3,
  lastAt: 4,
  /** AAL5 frames that were given up, because too many were incomplete. */
  aal5NoRoom: 5,
  /** The length of the log in bytes, of which `head` holds the low bits. */
  length: 6,
  /** AAL5 frames that came with a wrong CRC or length, or without an end. */
  aal5Faulty: 7,
} as const;
export const LOG_COUNTERS = 8;

export interface CaptureMemory {
  /** LOG_WORDS Int32 per log. */
  readonly words: SharedArrayBuffer;
  /** LOG_COUNTERS Float64 per log. */
  readonly counters: SharedArrayBuffer;
  /** The chunks: chunk n lies at `start` + n * CHUNK_LENGTH. */
  readonly bytes: SharedArrayBuffer;
  readonly start: number;
  readonly chunks: number;
}

/** Pages that are never written to cost nothing. */
export function newCaptureMemory(bytes: SharedArrayBuffer, start: number): CaptureMemory {
  return {
    words: new SharedArrayBuffer(MOST_LOGS * LOG_WORDS * Int32Array.BYTES_PER_ELEMENT),
    counters: new SharedArrayBuffer(MOST_LOGS * LOG_COUNTERS * Float64Array.BYTES_PER_ELEMENT),
    bytes,
    start,
    chunks: Math.floor((bytes.byteLength - start) / CHUNK_LENGTH),
  };
}
