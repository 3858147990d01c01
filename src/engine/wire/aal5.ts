/**
 * AAL5 (ITU-T I.363.5): a frame of up to 65,535 octets, padded and with a trailer at the end of its last cell: two
 * octets that are the user's, its length, and a CRC-32 over all of it.
 */
import { CRC32_CORRECT } from './crc32.js';

export const CELL_PAYLOAD_LENGTH = 48;
export const AAL5_TRAILER_LENGTH = 8;
/** Back from the end. */
const LENGTH_FIELD = 6;
/** Of the longest frame. */
export const AAL5_MOST_CELLS = Math.ceil((0xffff + AAL5_TRAILER_LENGTH) / CELL_PAYLOAD_LENGTH);

/** What may be wrong with a frame, as bits. */
export const AAL5_FAULT = {
  crc: 1,
  /** It has more cells than its length needs, or it has no end. */
  tooLong: 2,
  tooShort: 4,
} as const;

/** The length that the trailer tells. The frame with padding and trailer ends at `end`. */
export function aal5Length(view: DataView, end: number): number {
  return view.getUint16(end - LENGTH_FIELD);
}

/** Of a frame that came with its end; `crc` is over all of its cells. */
export function aal5Faults(crc: number, cells: number, length: number): number {
  const needed = Math.ceil((length + AAL5_TRAILER_LENGTH) / CELL_PAYLOAD_LENGTH);
  let faults = crc === CRC32_CORRECT ? 0 : AAL5_FAULT.crc;
  if (cells > needed) faults |= AAL5_FAULT.tooLong;
  if (cells < needed) faults |= AAL5_FAULT.tooShort;
  return faults;
}
