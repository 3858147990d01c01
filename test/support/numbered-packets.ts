/** IP packets that carry the number of their flow and a number of their own, and how each kind of link carries them. */
import { aal5Cells } from './aal5-cells.js';

const IP_LENGTH = 20;
const UDP_LENGTH = 8;
/** The length of a packet that has room for its two numbers and nothing else. */
const LEAST_LENGTH = IP_LENGTH + UDP_LENGTH + 8;
const DISCARD_PORT = 9;
const UDP = 17;

export const ETHERNET_LENGTH = 14;
export const FRAME_RELAY_LENGTH = 4;
/** The length of the LLC and SNAP headers. */
export const SNAP_LENGTH = 8;

/** Valid from its first octet to its last, so that a reader has nothing to complain of. */
export function ipPacket(flow: number, number: number, length = LEAST_LENGTH): Buffer {
  const packet = Buffer.alloc(length);
  packet.set([0x45, 0, 0, 0, 0, 0, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
  packet.writeUInt16BE(length, 2);
  packet.writeUInt16BE(checksumOf(packet.subarray(0, IP_LENGTH)), 10);
  packet.writeUInt16BE(DISCARD_PORT, IP_LENGTH);
  packet.writeUInt16BE(DISCARD_PORT, IP_LENGTH + 2);
  packet.writeUInt16BE(length - IP_LENGTH, IP_LENGTH + 4);
  packet.writeUInt32BE(flow, IP_LENGTH + UDP_LENGTH);
  packet.writeUInt32BE(number, IP_LENGTH + UDP_LENGTH + 4);
  return packet;
}

/** For everybody; with the tag of a VLAN when there is one. */
export function ethernetFrame(packet: Uint8Array, vlan?: number): Buffer {
  const tag = vlan === undefined ? [] : [0x81, 0x00, vlan >> 8, vlan & 0xff];
  const addresses = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1];
  return Buffer.concat([Uint8Array.from([...addresses, ...tag, 0x08, 0x00]), packet]);
}

/** With the encapsulation of RFC 2427. */
export function frameRelayFrame(dlci: number, packet: Uint8Array): Buffer {
  const address = [(dlci >> 4) << 2, ((dlci & 0xf) << 4) | 1];
  return Buffer.concat([Uint8Array.from([...address, 0x03, 0xcc]), packet]);
}

/** With the encapsulation of RFC 2684. */
export function atmCells(vpi: number, vci: number, packet: Uint8Array): Buffer[] {
  return aal5Cells(
    vpi,
    vci,
    Buffer.concat([Uint8Array.from([0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00]), packet]),
  );
}

/** The numbers of a packet that begins behind `headerLength` octets. */
export function numbersIn(frame: Buffer, headerLength = ETHERNET_LENGTH): { flow: number; number: number } {
  const at = headerLength + IP_LENGTH + UDP_LENGTH;
  return { flow: frame.readUInt32BE(at), number: frame.readUInt32BE(at + 4) };
}

/** The numbers of the packets of one flow, in the order in which they come. */
export function numbersOfFlow(frames: readonly Buffer[], flow: number, headerLength?: number): number[] {
  return frames
    .map((frame) => numbersIn(frame, headerLength))
    .filter((found) => found.flow === flow)
    .map(({ number }) => number);
}

/** How tshark shows what is in a packet, as a field `udp.payload`. */
export function shownPayload(flow: number, number: number): string {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(flow);
  payload.writeUInt32BE(number, 4);
  return payload.toString('hex');
}

function checksumOf(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < header.length; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}
