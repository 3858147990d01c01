/** Control messages of IPv6 (RFC 4443) with neighbour discovery (RFC 4861). */
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const HEADER = 4;
const TYPES: Readonly<Record<number, string>> = {
  1: 'destination unreachable',
  2: 'packet too big',
  3: 'time exceeded',
  4: 'parameter problem',
  128: 'echo request',
  129: 'echo reply',
  130: 'listener query',
  131: 'listener report',
  132: 'listener done',
  133: 'router solicitation',
  134: 'router advertisement',
  135: 'neighbour solicitation',
  136: 'neighbour advertisement',
  137: 'redirect',
  143: 'listener report (version 2)',
};
const OPTIONS: Readonly<Record<number, string>> = {
  1: 'source address',
  2: 'target address',
  3: 'prefix',
  4: 'redirected packet',
  5: 'MTU',
  25: 'DNS servers',
};
const FIRST_INFORMATION = 128;
const MTU = 2;
const OPTION_UNIT = 8;
const REPORT_2 = 143;

export const ICMPV6: Protocol = {
  name: 'ICMPv6',
  title: 'Internet control message 6',
  classify(numbers) {
    numbers.go(HEADER, NOTHING);
  },
  describe(d) {
    const { at } = d;
    const type = d.number('icmpv6.type', 'Type', at, 1, TYPES);
    const code = d.number('icmpv6.code', 'Code', at + 1, 1);
    d.number('icmpv6.checksum', 'Checksum', at + 2, 2);
    const name = TYPES[type] ?? `type ${type}`;
    const isQuote = type > 0 && type < 5 && d.has(at, 8);
    if (isQuote) {
      if (type === MTU) d.number('icmpv6.mtu', 'MTU', at + 4, 4);
      else d.rest('icmpv6.unused', 'Unused', at + 4, 4);
      d.say(`${name}, code ${code}`);
      d.go(at + 8, keyOf(SPACE.ethertype, 0x86dd));
      d.isQuoted = true;
      return;
    }
    d.say(`${name}${type >= FIRST_INFORMATION ? information(d, at + HEADER, type) : ''}`);
    d.go(type === 128 || type === 129 ? at + 8 : d.end, NOTHING);
  },
};

function information(d: Description, at: number, type: number): string {
  switch (type) {
    case 128:
    case 129: {
      const id = d.number('icmpv6.echo.identifier', 'Identifier', at, 2);
      return ` ${id}, number ${d.number('icmpv6.echo.sequence_number', 'Sequence number', at + 2, 2)}`;
    }
    case 130:
    case 131:
    case 132:
      d.number('icmpv6.mld.maximum_response_delay', 'Longest response time (ms)', at, 2);
      return ` ${d.ipv6('icmpv6.mld.multicast_address', 'Group', at + 4)}`;
    case 133:
      options(d, at + 4);
      return '';
    case 134:
      return advertisement(d, at);
    case 135: {
      const target = d.ipv6('icmpv6.nd.ns.target_address', 'Target', at + 4);
      options(d, at + 20);
      return `: who has ${target}?`;
    }
    case 136: {
      d.bits('icmpv6.nd.na.flag.r', 'Router', at, 4, 0x8000_0000);
      d.bits('icmpv6.nd.na.flag.s', 'Solicited', at, 4, 0x4000_0000);
      d.bits('icmpv6.nd.na.flag.o', 'Override', at, 4, 0x2000_0000);
      const target = d.ipv6('icmpv6.nd.na.target_address', 'Target', at + 4);
      options(d, at + 20);
      return `: ${target} is here`;
    }
    case 137: {
      const target = d.ipv6('icmpv6.rd.target', 'Better hop', at + 4);
      d.ipv6('icmpv6.nd.rd.destination', 'For', at + 20);
      options(d, at + 36);
      return ` to ${target}`;
    }
    case REPORT_2:
      return ` of ${d.number('icmpv6.mldr.nb_mcast_records', 'Groups', at + 2, 2)} groups`;
    default:
      return '';
  }
}

function advertisement(d: Description, at: number): string {
  d.number('icmpv6.nd.ra.cur_hop_limit', 'Hop limit', at, 1);
  d.bits('icmpv6.nd.ra.flag.m', 'Managed addresses', at + 1, 1, 0x80);
  d.bits('icmpv6.nd.ra.flag.o', 'Other configuration', at + 1, 1, 0x40);
  const lifetime = d.number('icmpv6.nd.ra.router_lifetime', 'Lifetime (s)', at + 2, 2);
  d.number('icmpv6.nd.ra.reachable_time', 'Reachable time (ms)', at + 4, 4);
  d.number('icmpv6.nd.ra.retrans_timer', 'Retransmission (ms)', at + 8, 4);
  const prefix = options(d, at + 12);
  return `${prefix === '' ? '' : ` of ${prefix}`}, for ${lifetime} s`;
}

/** Reads the options of neighbour discovery, and returns the first prefix. One of length 0 ends them. */
function options(d: Description, from: number): string {
  let prefix = '';
  let at = from;
  while (d.has(at, OPTION_UNIT)) {
    const type = d.number('icmpv6.opt.type', 'Option', at, 1, OPTIONS);
    const length = d.number('icmpv6.opt.length', 'Option length (8 octets)', at + 1, 1) * OPTION_UNIT;
    if (length === 0) break;
    if (type === 1 || type === 2) d.mac('icmpv6.opt.linkaddr', 'Link-layer address', at + 2);
    if (type === 5) d.number('icmpv6.opt.mtu', 'MTU', at + 4, 4);
    if (type === 3) {
      const bits = d.number('icmpv6.opt.prefix.length', 'Prefix length', at + 2, 1);
      d.number('icmpv6.opt.prefix.valid_lifetime', 'Valid (s)', at + 4, 4);
      d.number('icmpv6.opt.prefix.preferred_lifetime', 'Preferred (s)', at + 8, 4);
      const address = d.ipv6('icmpv6.opt.prefix', 'Prefix', at + 16);
      if (prefix === '') prefix = `${address}/${bits}`;
    }
    at += length;
  }
  return prefix;
}
