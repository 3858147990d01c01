/** Control messages of IPv4 (RFC 792), and group membership (RFC 2236, RFC 3376). */
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const HEADER = 8;
const TYPE = {
  echoReply: 0,
  unreachable: 3,
  quench: 4,
  redirect: 5,
  echo: 8,
  exceeded: 11,
  problem: 12,
} as const;
const TYPES: Readonly<Record<number, string>> = {
  0: 'echo reply',
  3: 'destination unreachable',
  4: 'source quench',
  5: 'redirect',
  8: 'echo request',
  9: 'router advertisement',
  10: 'router solicitation',
  11: 'time exceeded',
  12: 'parameter problem',
  13: 'timestamp request',
  14: 'timestamp reply',
};
const UNREACHABLE: Readonly<Record<number, string>> = {
  0: 'network',
  1: 'host',
  2: 'protocol',
  3: 'port',
  4: 'too large, must not be fragmented',
  5: 'source route failed',
  9: 'network prohibited',
  10: 'host prohibited',
  13: 'prohibited by a filter',
};
const QUOTES: readonly number[] = [TYPE.unreachable, TYPE.quench, TYPE.redirect, TYPE.exceeded, TYPE.problem];
const FRAGMENTATION_NEEDED = 4;

export const ICMP: Protocol = {
  name: 'ICMP',
  title: 'Internet control message',
  classify(numbers) {
    numbers.go(HEADER, NOTHING);
  },
  describe(d) {
    const { at } = d;
    const type = d.number('icmp.type', 'Type', at, 1, TYPES);
    const code = d.number('icmp.code', 'Code', at + 1, 1, type === TYPE.unreachable ? UNREACHABLE : {});
    d.number('icmp.checksum', 'Checksum', at + 2, 2);
    d.say(`${TYPES[type] ?? `type ${type}`}${detail(d, at, type, code)}`);
    const isQuote = QUOTES.includes(type) && d.has(at, HEADER);
    d.go(at + HEADER, isQuote ? keyOf(SPACE.ethertype, 0x0800) : NOTHING);
    if (isQuote) d.isQuoted = true;
  },
};

function detail(d: Description, at: number, type: number, code: number): string {
  if (type === TYPE.echo || type === TYPE.echoReply) {
    const id = d.number('icmp.ident', 'Identifier', at + 4, 2);
    return ` ${id}, number ${d.number('icmp.seq', 'Sequence number', at + 6, 2)}`;
  }
  if (type === TYPE.redirect) return ` to ${d.ipv4('icmp.redir_gw', 'Gateway', at + 4)}`;
  if (type === TYPE.unreachable && code === FRAGMENTATION_NEEDED)
    return `: ${UNREACHABLE[code] ?? ''}, MTU ${d.number('icmp.mtu', 'MTU of the next hop', at + 6, 2)}`;
  d.rest('icmp.unused', 'Unused', at + 4, 4);
  return type === TYPE.unreachable ? `: ${UNREACHABLE[code] ?? `code ${code}`}` : '';
}

const GROUP_TYPES: Readonly<Record<number, string>> = {
  0x11: 'query',
  0x12: 'report (version 1)',
  0x16: 'report (version 2)',
  0x17: 'leave',
  0x22: 'report (version 3)',
};
const REPORT_3 = 0x22;
const QUERY = 0x11;
const RECORD = 8;

export const IGMP: Protocol = {
  name: 'IGMP',
  title: 'Group membership',
  classify(numbers) {
    numbers.go(numbers.end - numbers.at, NOTHING);
  },
  describe(d) {
    const { at } = d;
    const type = d.number('igmp.type', 'Type', at, 1, GROUP_TYPES);
    if (type === QUERY) d.number('igmp.max_resp', 'Longest response time (1/10 s)', at + 1, 1);
    d.number('igmp.checksum', 'Checksum', at + 2, 2);
    const name = GROUP_TYPES[type] ?? `type ${type}`;
    if (type === REPORT_3) d.say(`${name}: ${records(d, at).join(', ')}`);
    else d.say(`${name} ${d.ipv4('igmp.maddr', 'Group', at + 4)}`);
    d.go(d.end, NOTHING);
  },
};

/** Reads the groups of a report; a record has its sources and auxiliary words behind it. */
function records(d: Description, at: number): string[] {
  const count = d.number('igmp.num_grp_recs', 'Groups', at + 6, 2);
  const groups: string[] = [];
  let record = at + HEADER;
  for (let index = 0; index < count && d.has(record, RECORD); index++) {
    d.number('igmp.record_type', 'Record type', record, 1);
    const sources = d.number('igmp.num_src', 'Sources', record + 2, 2);
    groups.push(d.ipv4('igmp.maddr', 'Group', record + 4));
    for (let source = 0; source < sources && d.has(record + RECORD + 4 * source, 4); source++)
      d.ipv4('igmp.saddr', 'Source', record + RECORD + 4 * source);
    record += RECORD + 4 * (sources + d.octet(record + 1));
  }
  return groups;
}
