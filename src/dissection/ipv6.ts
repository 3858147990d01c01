/** The Internet Protocol, version 6 (RFC 8200), and its extension headers. */
import { IP_PROTOCOLS } from './ipv4.js';
import { ABSENT } from './packet-numbers.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const HEADER = 40;
const UNIT = 8;

export const IPV6: Protocol = {
  name: 'IPv6',
  title: 'Internet Protocol 6',
  classify(numbers) {
    if (!numbers.has(HEADER)) return;
    if (numbers.ipAt === ABSENT) {
      numbers.ipAt = numbers.at - numbers.start;
      numbers.ipVersion = 6;
    }
    const length = numbers.pair(4);
    const next = keyOf(SPACE.ip, numbers.octet(6));
    if (length > 0) numbers.end = Math.min(numbers.end, numbers.at + HEADER + length);
    numbers.go(HEADER, next);
  },
  describe(d) {
    const { at } = d;
    d.bits('ipv6.version', 'Version', at, 1, 0xf0);
    d.bits('ipv6.tclass', 'Traffic class', at, 2, 0x0ff0);
    d.bits('ipv6.flow', 'Flow label', at, 4, 0x000f_ffff);
    const length = d.number('ipv6.plen', 'Payload length', at + 4, 2);
    const next = d.number('ipv6.nxt', 'Next header', at + 6, 1, IP_PROTOCOLS);
    const life = d.number('ipv6.hlim', 'Hop limit', at + 7, 1);
    const source = d.ipv6('ipv6.src', 'Source', at + 8);
    const destination = d.ipv6('ipv6.dst', 'Destination', at + 24);
    d.between(source, destination);
    d.say(`${source} to ${destination}, ${IP_PROTOCOLS[next] ?? `protocol ${next}`}, hop limit ${life}`);
    if (length > 0) d.end = Math.min(d.end, at + HEADER + length);
    d.go(at + HEADER, d.has(at, HEADER) ? keyOf(SPACE.ip, next) : NOTHING);
  },
};

export const HOP_BY_HOP = extension('IPv6 hop-by-hop', 'Hop-by-hop options', 'ipv6.hopopts');
export const ROUTING = extension('IPv6 routing', 'Routing header', 'ipv6.routing');
export const DESTINATION_OPTIONS = extension('IPv6 options', 'Destination options', 'ipv6.dstopts');

/** A header whose second octet is its length in units of eight octets, not counting the first. */
function extension(name: string, title: string, prefix: string): Protocol {
  return {
    name,
    title,
    classify(numbers) {
      if (!numbers.has(UNIT)) return;
      numbers.go((numbers.octet(1) + 1) * UNIT, keyOf(SPACE.ip, numbers.octet(0)));
    },
    describe(d) {
      const { at } = d;
      const next = d.number(`${prefix}.nxt`, 'Next header', at, 1, IP_PROTOCOLS);
      const units = d.number(`${prefix}.len`, 'Length', at + 1, 1);
      const length = (units + 1) * UNIT;
      d.rest(`${prefix}.content`, 'Content', at + 2, Math.max(0, Math.min(length, d.end - at) - 2));
      d.say(`${length} octets, then ${IP_PROTOCOLS[next] ?? `protocol ${next}`}`);
      d.go(at + length, d.has(at, UNIT) ? keyOf(SPACE.ip, next) : NOTHING);
    },
  };
}

export const FRAGMENT: Protocol = {
  name: 'IPv6 fragment',
  title: 'Fragment header',
  classify(numbers) {
    if (!numbers.has(UNIT)) return;
    const isFirst = numbers.pair(2) >>> 3 === 0;
    numbers.go(UNIT, isFirst ? keyOf(SPACE.ip, numbers.octet(0)) : NOTHING);
  },
  describe(d) {
    const { at } = d;
    const next = d.number('ipv6.fraghdr.nxt', 'Next header', at, 1, IP_PROTOCOLS);
    const offset = d.bits('ipv6.fraghdr.offset', 'Offset', at + 2, 2, 0xfff8);
    d.bits('ipv6.fraghdr.more', 'More fragments', at + 2, 2, 0x0001);
    const id = d.number('ipv6.fraghdr.ident', 'Identification', at + 4, 4);
    d.say(`fragment ${id} at ${offset * UNIT}`);
    d.go(at + UNIT, offset === 0 && d.has(at, UNIT) ? keyOf(SPACE.ip, next) : NOTHING);
  },
};
