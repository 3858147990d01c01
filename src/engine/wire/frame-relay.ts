/**
 * The address at the start of a Frame Relay frame, in its form of two octets (ITU-T Q.922): the upper six bits of the
 * DLCI, C/R and an extension bit of 0; then the lower four bits, FECN, BECN, DE and an extension bit of 1. In a datagram
 * the frame has neither flags nor a frame check sequence.
 */

export const ADDRESS_LENGTH = 2;

const EXTENSION_BIT = 0x01;
/** The bits of the first and of the second octet that do not belong to the DLCI. */
const UPPER_KEPT = 0x03;
const LOWER_KEPT = 0x0f;

/** The DLCI; -1 when the extension bits announce an address of another length. */
export function readDlci(bytes: Uint8Array, offset: number): number {
  const upper = bytes[offset] ?? 0;
  const lower = bytes[offset + 1] ?? 0;
  if ((upper & EXTENSION_BIT) !== 0 || (lower & EXTENSION_BIT) === 0) return -1;
  return ((upper & ~UPPER_KEPT) << 2) | (lower >>> 4);
}

/** Replaces the DLCI and nothing else. */
export function writeDlci(bytes: Uint8Array, offset: number, dlci: number): void {
  bytes[offset] = ((dlci >>> 2) & ~UPPER_KEPT) | ((bytes[offset] ?? 0) & UPPER_KEPT);
  bytes[offset + 1] = (dlci << 4) | ((bytes[offset + 1] ?? 0) & LOWER_KEPT);
}
