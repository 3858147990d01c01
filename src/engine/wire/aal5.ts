/**
 * AAL5 (ITU-T I.363.5): a frame of up to 65,535 octets, padding, and a trailer at the end of the last cell: two octets
 * for the user, the length of the frame, and a CRC-32 over all cells.
 */
import { CRC32_CORRECT } from './crc32.js';

export const CELL_PAYLOAD_LENGTH = 48;
export const AAL5_TRAILER_LENGTH = 8;
/** The distance of the length field from the end. */
const LENGTH_FIELD = 6;
/** The number of cells of the longest frame. */
export const AAL5_MOST_CELLS = Math.ceil((0xffff + AAL5_TRAILER_LENGTH) / CELL_PAYLOAD_LENGTH);

/** The possible faults of a frame, as bits. */
export const AAL5_FAULT = {
  crc: 1,
  /** The frame has more cells than its length needs, or no last cell. */
  tooLong: 2,
  tooShort: 4,
} as const;

/** The length in the trailer of a frame whose last cell ends at `end`. */
export function aal5Length(view: DataView, end: number): number {
  return view.getUint16(end - LENGTH_FIELD);
}

/** The faults of a frame that has its last cell; `crc` is over all of its cells. */
export function aal5Faults(crc: number, cells: number, length: number): number {
  const needed = Math.ceil((length + AAL5_TRAILER_LENGTH) / CELL_PAYLOAD_LENGTH);
  let faults = crc === CRC32_CORRECT ? 0 : AAL5_FAULT.crc;
  if (cells > needed) faults |= AAL5_FAULT.tooLong;
  if (cells < needed) faults |= AAL5_FAULT.tooShort;
  return faults;
}
