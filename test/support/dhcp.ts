/** The little of DHCP that it takes to answer a machine that boots from the network. */
const ETHERNET = 14;
const IP = 20;
const UDP = 8;
const BOOTP = 236;
const COOKIE = 0x63825363;
const SERVER = { mac: Buffer.from('02000000aa01', 'hex'), address: Buffer.from([10, 0, 0, 1]) };
const OFFERED = Buffer.from([10, 0, 0, 9]);
const IPV4 = 0x0800;
const UDP_PROTOCOL = 17;

export const DISCOVER = 1;
export const OFFER = 2;
export const REQUEST = 3;

/** The kind of a DHCP message from a client; undefined for any other frame. */
export function dhcpKind(frame: Buffer): number | undefined {
  const bootp = ETHERNET + IP + UDP;
  if (frame.length < bootp + BOOTP + 4 || frame.readUInt16BE(12) !== IPV4) return undefined;
  if (frame[ETHERNET + 9] !== UDP_PROTOCOL || frame.readUInt16BE(ETHERNET + IP + 2) !== 67) return undefined;
  if (frame.readUInt32BE(bootp + BOOTP) !== COOKIE) return undefined;
  for (let at = bootp + BOOTP + 4; at < frame.length && frame[at] !== 255; at += 2 + (frame[at + 1] ?? 0)) {
    if (frame[at] === 53) return frame[at + 2];
  }
  return undefined;
}

/** The frame that offers an address to the client of this discovery, to its own MAC address. */
export function offerTo(discovery: Buffer): Buffer {
  const asked = discovery.subarray(ETHERNET + IP + UDP);
  const client = discovery.subarray(6, 12);
  const bootp = Buffer.alloc(BOOTP);
  bootp.set([2, 1, 6, 0]);
  asked.copy(bootp, 4, 4, 8);
  bootp.writeUInt16BE(asked.readUInt16BE(10), 10);
  OFFERED.copy(bootp, 16);
  SERVER.address.copy(bootp, 20);
  asked.copy(bootp, 28, 28, 44);
  const cookie = Buffer.alloc(4);
  cookie.writeUInt32BE(COOKIE);
  const options = [53, 1, OFFER, 54, 4, ...SERVER.address, 51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 255, 0, 255];
  const payload = Buffer.concat([bootp, cookie, Buffer.from(options)]);
  const udp = Buffer.alloc(UDP);
  udp.writeUInt16BE(67, 0);
  udp.writeUInt16BE(68, 2);
  udp.writeUInt16BE(UDP + payload.length, 4);
  const ip = Buffer.alloc(IP);
  ip.set([0x45, 0]);
  ip.writeUInt16BE(IP + UDP + payload.length, 2);
  ip.set([64, UDP_PROTOCOL], 8);
  SERVER.address.copy(ip, 12);
  ip.fill(0xff, 16);
  ip.writeUInt16BE(checksum(ip), 10);
  const type = Buffer.alloc(2);
  type.writeUInt16BE(IPV4);
  return Buffer.concat([client, SERVER.mac, type, ip, udp, payload]);
}

function checksum(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < header.length; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}
