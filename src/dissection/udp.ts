/** User datagrams (RFC 768). */
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const HEADER = 8;

export const UDP: Protocol = {
  name: 'UDP',
  title: 'User datagram',
  classify(numbers) {
    if (!numbers.has(HEADER)) return;
    const source = numbers.pair(0);
    const destination = numbers.pair(2);
    numbers.sourcePort = source;
    numbers.destinationPort = destination;
    const low = Math.min(source, destination);
    const high = Math.max(source, destination);
    const length = numbers.pair(4);
    if (length >= HEADER) numbers.end = Math.min(numbers.end, numbers.at + length);
    numbers.go(HEADER, keyOf(SPACE.udp, low), keyOf(SPACE.udp, high));
  },
  describe(d) {
    const { at } = d;
    const source = d.number('udp.srcport', 'Source port', at, 2);
    const destination = d.number('udp.dstport', 'Destination port', at + 2, 2);
    const length = d.number('udp.length', 'Length', at + 4, 2);
    d.number('udp.checksum', 'Checksum', at + 6, 2);
    d.say(`${source} to ${destination}, ${Math.max(0, length - HEADER)} octets`);
    const isWhole = d.has(at, HEADER);
    if (length >= HEADER) d.end = Math.min(d.end, at + length);
    const low = Math.min(source, destination);
    const high = Math.max(source, destination);
    d.go(at + HEADER, isWhole ? keyOf(SPACE.udp, low) : NOTHING, isWhole ? keyOf(SPACE.udp, high) : NOTHING);
  },
};
