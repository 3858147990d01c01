/**
 * An ATM cell as an ERF record: a header, the four octets of the cell's header without its error control, and its
 * payload. The header's time is a fixed-point number of seconds, little endian; the rest is big endian.
 */
import { CELL_PAYLOAD_LENGTH } from './aal5.js';

const FIELD = {
  fraction: 0,
  seconds: 4,
  type: 8,
  flags: 9,
  recordLength: 10,
  losses: 12,
  wireLength: 14,
} as const;
export const ERF_HEADER_LENGTH = 16;
const CELL_HEADER_LENGTH = 4;
const WIRE_LENGTH = CELL_HEADER_LENGTH + CELL_PAYLOAD_LENGTH;
export const ERF_CELL_LENGTH = ERF_HEADER_LENGTH + WIRE_LENGTH;
const TYPE_ATM = 3;
const FRACTIONS_A_NANOSECOND = 2 ** 32 / 1e9;

/** Writes all but the payload; returns where that belongs. What comes in and what goes out are two interfaces. */
export function writeErfCellHeader(
  view: DataView,
  offset: number,
  seconds: number,
  nanoseconds: number,
  isOut: boolean,
  header: number,
): number {
  // Up to the next fraction: cut to nanoseconds it is the same time again.
  view.setUint32(offset + FIELD.fraction, Math.ceil(nanoseconds * FRACTIONS_A_NANOSECOND), true);
  view.setUint32(offset + FIELD.seconds, seconds, true);
  view.setUint8(offset + FIELD.type, TYPE_ATM);
  view.setUint8(offset + FIELD.flags, isOut ? 1 : 0);
  view.setUint16(offset + FIELD.recordLength, ERF_CELL_LENGTH);
  view.setUint16(offset + FIELD.losses, 0);
  view.setUint16(offset + FIELD.wireLength, WIRE_LENGTH);
  view.setInt32(offset + ERF_HEADER_LENGTH, header);
  return offset + ERF_HEADER_LENGTH + CELL_HEADER_LENGTH;
}
