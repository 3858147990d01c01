/** Where the records of a log begin and end. Both functions start at a boundary. */
import { RECORD_HEADER_LENGTH } from '../../engine/wire/pcap.js';
import type { LogMemory } from './log-memory.js';

export type RecordFormat = 'pcap' | 'pcapng';

/** Where the kept length stands in what is before a packet of a pcap file. */
const KEPT_LENGTH = 8;
/** Of a pcapng block: the least that it is long, and where its length stands. */
const PCAPNG = { leastLength: 12, length: 4 } as const;

export function nextBoundary(log: LogMemory, format: RecordFormat, from: number): number {
  if (format === 'pcap') return from + RECORD_HEADER_LENGTH + log.uint32(from + KEPT_LENGTH);
  const length = log.uint32(from + PCAPNG.length);
  if (length < PCAPNG.leastLength)
    throw new RangeError(`a block of the log claims to be ${length} octets long`);
  return from + length;
}

/** The last boundary that is not above `limit`, of what has been written. */
export function lastBoundary(log: LogMemory, format: RecordFormat, from: number, limit: number): number {
  const least = format === 'pcap' ? RECORD_HEADER_LENGTH : PCAPNG.leastLength;
  let boundary = from;
  while (boundary + least <= limit) {
    const next = nextBoundary(log, format, boundary);
    if (next > limit) break;
    boundary = next;
  }
  return boundary;
}
