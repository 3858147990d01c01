/**
 * How captured records lie in shared memory. A **log** is an endless sequence of octets: whole records, one after
 * the other. What is young of it lies in chunks of 64 KiB, up to 64 of them, taken from the chunks of the engine
 * that writes it. Positions in a log only grow; a word holds the low 32 bits of one, which is enough because
 * nothing that is compared lies farther apart than a log's memory. A chunk is named by the position of its first
 * octet shifted right by 16: its ordinal, of which words hold the low 16 bits.
 *
 * - The engine alone takes and gives back chunks. It writes records plainly, then stores `head`.
 * - Whoever drains (a writer loop to a file, or the HTTP thread to a viewer) loads `head`, reads, then stores
 *   `drained`. Nothing that is not drained is ever overwritten: without room a record is dropped and counted.
 * - The HTTP thread reads what is drained already for viewers at the tail: it stores the ordinal of the chunk in
 *   `pin`, then loads `reclaimed`; when the chunk is not reclaimed it may read until it stores NO_PIN. The engine
 *   stores `reclaimed` before it reuses a chunk, then loads `pin`, and takes it back when the chunk is pinned.
 */

export const CHUNK_BITS = 16;
export const CHUNK_LENGTH = 1 << CHUNK_BITS;
/** The most that lies in memory of one log: 4 MiB. */
export const CHUNKS_A_LOG = 64;
/** Of one engine. */
export const MOST_LOGS = 4096;
export const NO_PIN = -1;
export const NO_CHUNK = -1;

/** Int32 words of a log; the numbers of its chunks follow, by ordinal modulo CHUNKS_A_LOG. */
export const LOG = {
  /** Not 0: in use. Set before the first tap, cleared by the engine when its chunks are given back. */
  active: 0,
  /** Everything before is whole records, and may be read. */
  head: 1,
  /** Everything before has been taken care of. */
  drained: 2,
  /** The ordinal of the chunk that is being read for viewers, or NO_PIN. */
  pin: 3,
  /** The ordinal of the oldest chunk that is still in memory. */
  reclaimed: 4,
  /** Why a tap takes nothing more, one of LOG_END; 0 while it does. */
  ended: 5,
  /**
   * One number over two words, stored at once: how many interfaces the log describes up to a position (16 bits), and
   * that position (48). Before `head` has reached it there is one less.
   */
  interfaces: 6,
  chunks: 8,
} as const;
export const LOG_WORDS = LOG.chunks + CHUNKS_A_LOG;

export const LOG_END = { maxPackets: 1, maxOctets: 2 } as const;

/** Float64 counters of a log. */
export const LOG_COUNTER = {
  /** Records in the log. */
  packets: 0,
  /** Of the packets as they were, before they were cut. */
  octets: 1,
  /** Packets that found no room. */
  dropped: 2,
  /** Times of the first and of the last packet, in milliseconds since 1970; 0 before there is one. */
  firstAt: 3,
  lastAt: 4,
  /** AAL5 frames that were given up, because too many were open. */
  aal5NoRoom: 5,
  /** Octets of the log: what `head` holds the low bits of. */
  length: 6,
  /** AAL5 frames that came with a wrong CRC or length, or without an end. */
  aal5Faulty: 7,
} as const;
export const LOG_COUNTERS = 8;

export interface CaptureMemory {
  /** LOG_WORDS Int32 a log. */
  readonly words: SharedArrayBuffer;
  /** LOG_COUNTERS Float64 a log. */
  readonly counters: SharedArrayBuffer;
  /** Where the chunks lie: chunk n at `start` + n * CHUNK_LENGTH. */
  readonly bytes: SharedArrayBuffer;
  readonly start: number;
  readonly chunks: number;
}

/** Pages that nothing was written to cost nothing. */
export function newCaptureMemory(bytes: SharedArrayBuffer, start: number): CaptureMemory {
  return {
    words: new SharedArrayBuffer(MOST_LOGS * LOG_WORDS * Int32Array.BYTES_PER_ELEMENT),
    counters: new SharedArrayBuffer(MOST_LOGS * LOG_COUNTERS * Float64Array.BYTES_PER_ELEMENT),
    bytes,
    start,
    chunks: Math.floor((bytes.byteLength - start) / CHUNK_LENGTH),
  };
}
