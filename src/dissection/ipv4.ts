/** The Internet Protocol, version 4 (RFC 791). */
import { ABSENT } from './packet-numbers.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const LEAST = 20;
const OFFSET_BITS = 0x1fff;

export const IP_PROTOCOLS: Readonly<Record<number, string>> = {
  0: 'hop-by-hop options',
  1: 'ICMP',
  2: 'IGMP',
  4: 'IPv4',
  6: 'TCP',
  17: 'UDP',
  41: 'IPv6',
  43: 'routing header',
  44: 'fragment header',
  46: 'RSVP',
  47: 'GRE',
  50: 'ESP',
  51: 'AH',
  58: 'ICMPv6',
  59: 'nothing',
  60: 'destination options',
  88: 'EIGRP',
  89: 'OSPF',
  103: 'PIM',
  112: 'VRRP',
  115: 'L2TP',
  132: 'SCTP',
};

/** Only the first fragment begins with a header of what follows. */
const follows = (fragment: number, protocol: number): number =>
  (fragment & OFFSET_BITS) === 0 ? keyOf(SPACE.ip, protocol) : NOTHING;

/** The end of the packet as its length field tells it; one of 0 is left to the sender's hardware. */
const endOf = (at: number, length: number, end: number): number =>
  length === 0 ? end : Math.min(end, at + Math.max(length, LEAST));

export const IPV4: Protocol = {
  name: 'IPv4',
  title: 'Internet Protocol 4',
  classify(numbers) {
    if (!numbers.has(LEAST)) return;
    if (numbers.ipAt === ABSENT) {
      numbers.ipAt = numbers.at - numbers.start;
      numbers.ipVersion = 4;
    }
    const header = Math.max(LEAST, (numbers.octet(0) & 0xf) * 4);
    const next = follows(numbers.pair(6), numbers.octet(9));
    numbers.end = endOf(numbers.at, numbers.pair(2), numbers.end);
    numbers.go(header, next);
  },
  describe(d) {
    const { at } = d;
    d.bits('ip.version', 'Version', at, 1, 0xf0);
    const header = Math.max(LEAST, (d.octet(at) & 0xf) * 4);
    d.note('ip.hdr_len', 'Header length', at, 1, (d.octet(at) & 0xf) * 4);
    d.bits('ip.dsfield.dscp', 'Service class', at + 1, 1, 0xfc);
    d.bits('ip.dsfield.ecn', 'Congestion', at + 1, 1, 0x03);
    const length = d.number('ip.len', 'Total length', at + 2, 2);
    const id = d.number('ip.id', 'Identification', at + 4, 2);
    d.bits('ip.flags.df', 'Do not fragment', at + 6, 2, 0x4000);
    const more = d.bits('ip.flags.mf', 'More fragments', at + 6, 2, 0x2000);
    const offset = d.bits('ip.frag_offset', 'Fragment offset', at + 6, 2, OFFSET_BITS);
    const life = d.number('ip.ttl', 'Time to live', at + 8, 1);
    const protocol = d.number('ip.proto', 'Protocol', at + 9, 1, IP_PROTOCOLS);
    d.number('ip.checksum', 'Header checksum', at + 10, 2);
    const source = d.ipv4('ip.src', 'Source', at + 12);
    const destination = d.ipv4('ip.dst', 'Destination', at + 16);
    if (header > LEAST)
      d.rest('ip.opt', 'Options', at + LEAST, Math.max(0, Math.min(header, d.end - at) - LEAST));
    d.between(source, destination);
    const name = IP_PROTOCOLS[protocol] ?? `protocol ${protocol}`;
    const part = more === 1 || offset > 0 ? `, fragment ${id} at ${offset * 8}` : '';
    d.say(`${source} to ${destination}, ${name}, TTL ${life}${part}`);
    d.end = endOf(at, length, d.end);
    d.go(at + header, d.has(at, LEAST) ? follows(d.pair(at + 6), protocol) : NOTHING);
  },
};
