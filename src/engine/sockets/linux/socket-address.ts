/** Socket addresses in the form of the kernel. */
import { isIPv6 } from 'node:net';
import { AF_INET, AF_INET6, AF_PACKET, AF_UNIX } from './constants.js';

const LONGEST_PATH = 107;

export function internetAddress(host: string, port: number): Uint8Array {
  return isIPv6(host) ? version6(host, port) : version4(host, port);
}

function version4(host: string, port: number): Uint8Array {
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.writeUInt16BE(port, 2);
  address.set(host.split('.').map(Number), 4);
  return address;
}

function version6(host: string, port: number): Uint8Array {
  const address = Buffer.alloc(28);
  address.writeUInt16LE(AF_INET6, 0);
  address.writeUInt16BE(port, 2);
  const [plain = ''] = host.split('%');
  groupsOf(plain).forEach((group, index) => address.writeUInt16BE(group, 8 + index * 2));
  return address;
}

/** The eight groups of an IPv6 address, with `::` and a dotted end expanded. */
function groupsOf(host: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(host);
  if (dotted !== null) {
    const [, start = '', ...bytes] = dotted;
    const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number);
    return groupsOf(`${start}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`);
  }
  const [before = '', after] = host.split('::');
  const parse = (side: string): number[] =>
    side === '' ? [] : side.split(':').map((group) => Number.parseInt(group, 16));
  const first = parse(before);
  const last = parse(after ?? '');
  const missing = after === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array.from({ length: missing }, () => 0), ...last];
}

/** Undefined when the path is too long for the kernel. */
export function unixAddress(path: string): Uint8Array | undefined {
  const name = Buffer.from(path);
  if (name.length > LONGEST_PATH) return undefined;
  const address = Buffer.alloc(name.length + 3);
  address.writeUInt16LE(AF_UNIX, 0);
  name.copy(address, 2);
  return address;
}

/** The address of an interface, for the packets of a protocol. */
export function packetAddress(interfaceIndex: number, protocol: number): Uint8Array {
  const address = Buffer.alloc(20);
  address.writeUInt16LE(AF_PACKET, 0);
  address.writeUInt16BE(protocol, 2);
  address.writeInt32LE(interfaceIndex, 4);
  return address;
}
