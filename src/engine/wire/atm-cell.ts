/**
 * The ATM cell as it travels in a UDP datagram: 4 octets of header, the header error control, 48 of payload.
 * The header is of the NNI form: VPI 12 bits, VCI 16, payload type 3, loss priority 1.
 */

export const CELL_LENGTH = 53;
export const LARGEST_VPI = 0xfff;
export const LARGEST_VCI = 0xffff;
export const HEC_OFFSET = 4;

/** The bits of a header that are not part of the label: payload type and loss priority. */
export const PAYLOAD_BITS = 0xf;

/** The CRC-8 table of x^8 + x^2 + x + 1, most significant bit first. */
const CRC = Uint8Array.from({ length: 256 }, (_, octet) => {
  let crc = octet;
  for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x80 ? 0x07 : 0)) & 0xff;
  return crc;
});
const COSET = 0x55;

export function headerOf(vpi: number, vci: number): number {
  return (vpi << 20) | (vci << 4);
}

export function vpiOf(header: number): number {
  return header >>> 20;
}

/** The header error control (ITU-T I.432.1): the CRC-8 of the four octets, plus the coset. */
export function hecOf(header: number): number {
  let crc = CRC[header >>> 24] ?? 0;
  crc = CRC[crc ^ ((header >>> 16) & 0xff)] ?? 0;
  crc = CRC[crc ^ ((header >>> 8) & 0xff)] ?? 0;
  return (CRC[crc ^ (header & 0xff)] ?? 0) ^ COSET;
}

/** The contribution of the payload bits to the header error control: hecOf(label | bits) = hecOf(label) ^ payloadHec(bits). */
export function payloadHec(bits: number): number {
  return CRC[bits] ?? 0;
}
