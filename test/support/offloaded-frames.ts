/** Frames of guests that leave checksums and the cutting of segments to others, with the header before each. */
import { RandomBytes } from './random.js';

export interface Wish {
  readonly flags?: number;
  readonly type?: number;
  readonly headers?: number;
  readonly segment?: number;
  readonly covered?: number;
  readonly checksum?: number;
}

const ADDRESSES = '020000000002' + '020000000001';
const TCP_OPTIONS = 12;
const TCP_LENGTH = 20 + TCP_OPTIONS;
const FLAGS_AT = 13;
/** FIN, PSH, ACK and CWR. */
export const ALL_FLAGS = 0x99;

export function wishOf(wish: Wish): Buffer {
  const header = Buffer.alloc(12);
  header[0] = wish.flags ?? 1;
  header[1] = wish.type ?? 0;
  header.writeUInt16LE(wish.headers ?? 0, 2);
  header.writeUInt16LE(wish.segment ?? 0, 4);
  header.writeUInt16LE(wish.covered ?? 0, 6);
  header.writeUInt16LE(wish.checksum ?? 16, 8);
  return header;
}

interface LongFrame {
  readonly header: Buffer;
  readonly frame: Buffer;
  readonly payload: Buffer;
}

/** TCP with so many octets, to be cut into segments of this many. A tag is that of a VLAN. */
export function longFrame(version: 4 | 6, octets: number, segment: number, tag?: number): LongFrame {
  const payload = new RandomBytes(octets).next(octets);
  const ethernet = Buffer.from(ADDRESSES + tagText(tag) + (version === 4 ? '0800' : '86dd'), 'hex');
  const tcp = Buffer.alloc(TCP_LENGTH, 1);
  tcp.set(Buffer.from('30391f90fffffff0000000018099ffff00000000', 'hex'));
  tcp[FLAGS_AT] = ALL_FLAGS;
  const length = TCP_LENGTH + octets;
  const ip = version === 4 ? ipv4(6, length) : ipv6(6, length);
  const covered = ethernet.length + ip.length;
  return {
    header: wishOf({ type: version === 4 ? 1 : 4, headers: covered + TCP_LENGTH, segment, covered }),
    frame: Buffer.concat([ethernet, ip, tcp, payload]),
    payload,
  };
}

/** UDP with the sum of the pseudo header where the checksum belongs, as Linux leaves it. */
export function partialUdp(payload: Uint8Array): { header: Buffer; frame: Buffer } {
  const ethernet = Buffer.from(`${ADDRESSES}0800`, 'hex');
  const length = 8 + payload.length;
  const udp = Buffer.alloc(8);
  udp.writeUInt16BE(1000, 0);
  udp.writeUInt16BE(2000, 2);
  udp.writeUInt16BE(length, 4);
  // 10.0.0.1 and 10.0.0.2, the protocol, the length.
  udp.writeUInt16BE(0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 17 + length, 6);
  return {
    header: wishOf({ covered: 34, checksum: 6 }),
    frame: Buffer.concat([ethernet, ipv4(17, length), udp, payload]),
  };
}

function tagText(tag: number | undefined): string {
  return tag === undefined ? '' : `8100${tag.toString(16).padStart(4, '0')}`;
}

/** Without its checksum where that is left to the segments; with it for a datagram. */
function ipv4(protocol: number, length: number): Buffer {
  const header = Buffer.from('45000000123440004000' + '0000' + '0a0000010a000002', 'hex');
  header[9] = protocol;
  header.writeUInt16BE(20 + length, 2);
  let sum = 0;
  for (let at = 0; at < 20; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  header.writeUInt16BE(sum ^ 0xffff, 10);
  return header;
}

function ipv6(protocol: number, length: number): Buffer {
  const header = Buffer.from(`6000000000000040${'fd00'.padEnd(31, '0')}1${'fd00'.padEnd(31, '0')}2`, 'hex');
  header[6] = protocol;
  header.writeUInt16BE(length, 4);
  return header;
}
