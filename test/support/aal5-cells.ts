/** Cells of AAL5 frames, made the long way. */
import { headerOf, hecOf } from '../../src/engine/wire/atm-cell.js';

export interface Aal5Spoiling {
  /** Changes this bit of the CRC. */
  readonly crc?: number;
  /** The length that the trailer tells, if it is a wrong one. */
  readonly length?: number;
}

/** The frame with padding and trailer. */
export function aal5Pdu(
  payload: Uint8Array,
  { crc = 0, length = payload.length }: Aal5Spoiling = {},
): Buffer {
  const pdu = Buffer.alloc(Math.ceil((payload.length + 8) / 48) * 48);
  pdu.set(payload);
  pdu.writeUInt16BE(length, pdu.length - 6);
  pdu.writeInt32BE(crcOf(pdu.subarray(0, -4)) ^ crc, pdu.length - 4);
  return pdu;
}

export function aal5Cells(vpi: number, vci: number, payload: Uint8Array, spoiling?: Aal5Spoiling): Buffer[] {
  const pdu = aal5Pdu(payload, spoiling);
  const count = pdu.length / 48;
  return Array.from({ length: count }, (_, index) => {
    const payloadType = index === count - 1 ? 1 : 0;
    return cellOf(vpi, vci, payloadType, pdu.subarray(index * 48, index * 48 + 48));
  });
}

export function cellOf(vpi: number, vci: number, payloadType: number, payload: Uint8Array): Buffer {
  const cell = Buffer.alloc(53);
  const header = headerOf(vpi, vci) | (payloadType << 1);
  cell.writeInt32BE(header, 0);
  cell.writeUInt8(hecOf(header), 4);
  cell.set(payload, 5);
  return cell;
}

/** Bit by bit, as I.363.5 says it. */
function crcOf(octets: Uint8Array): number {
  let crc = -1;
  for (const octet of octets) {
    crc ^= octet << 24;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc < 0 ? 0x04c1_1db7 : 0);
  }
  return ~crc;
}
