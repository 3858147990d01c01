/**
 * An ATM cell as an ERF record: a header, the four octets of the cell's header without its error control, and its
 * payload. The header's time is a fixed-point number of seconds, little endian; the rest is big endian.
 */
import { CELL_PAYLOAD_LENGTH } from './aal5.js';

/** Offsets of words. The type shares its word with flags and record length, the losses with the length on the wire. */
const FIELD = { fraction: 0, seconds: 4, type: 8, losses: 12 } as const;
const ERF_HEADER_LENGTH = 16;
const CELL_HEADER_LENGTH = 4;
const WIRE_LENGTH = CELL_HEADER_LENGTH + CELL_PAYLOAD_LENGTH;
export const ERF_CELL_LENGTH = ERF_HEADER_LENGTH + WIRE_LENGTH;
const TYPE_ATM = 3;
const FRACTIONS_A_NANOSECOND = 2 ** 32 / 1e9;

/** The flags number the interface: 0 for cells that come in, 1 for cells that go out. */
const IN = wordOf(0);
const OUT = wordOf(1);

/** Nanoseconds as the fraction of a second, rounded up so that readers that truncate get the same nanoseconds. */
export function erfFraction(nanoseconds: number): number {
  return Math.ceil(nanoseconds * FRACTIONS_A_NANOSECOND) | 0;
}

/** Writes everything except the payload; returns the offset where the payload belongs. */
export function writeErfCellHeader(
  view: DataView,
  offset: number,
  seconds: number,
  fraction: number,
  isOut: boolean,
  header: number,
): number {
  view.setInt32(offset + FIELD.fraction, fraction, true);
  view.setUint32(offset + FIELD.seconds, seconds, true);
  view.setInt32(offset + FIELD.type, isOut ? OUT : IN);
  view.setInt32(offset + FIELD.losses, WIRE_LENGTH);
  view.setInt32(offset + ERF_HEADER_LENGTH, header);
  return offset + ERF_HEADER_LENGTH + CELL_HEADER_LENGTH;
}

/** The word of type, flags and record length. */
function wordOf(flags: number): number {
  return (TYPE_ATM << 24) | (flags << 16) | ERF_CELL_LENGTH;
}
