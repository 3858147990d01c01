/** OSPF 2 (RFC 2328): its header, hellos, and the headers of what databases exchange. */
import { ipv4Text } from './addresses.js';
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { NOTHING } from './protocol-keys.js';

const HEADER = 24;
const MESSAGES: Readonly<Record<number, string>> = {
  1: 'hello',
  2: 'database description',
  3: 'request',
  4: 'update',
  5: 'acknowledgement',
};
const KINDS: Readonly<Record<number, string>> = {
  1: 'router',
  2: 'network',
  3: 'summary of a network',
  4: 'summary of a router',
  5: 'external',
  7: 'external (NSSA)',
};
const STATE_HEADER = 20;
const REQUEST = 12;
const VERSION = 2;

export const OSPF: Protocol = {
  name: 'OSPF',
  title: 'Open shortest path first',
  classify(numbers) {
    numbers.go(numbers.end - numbers.at, NOTHING);
  },
  describe(d) {
    const { at } = d;
    const version = d.number('ospf.version', 'Version', at, 1);
    const message = d.number('ospf.msg', 'Message', at + 1, 1, MESSAGES);
    const length = d.number('ospf.packet_length', 'Length', at + 2, 2);
    const router = d.ipv4('ospf.srcrouter', 'Router', at + 4);
    const area = d.ipv4('ospf.area_id', 'Area', at + 8);
    d.number('ospf.checksum', 'Checksum', at + 12, 2);
    let told = '';
    if (version === VERSION) {
      d.number('ospf.auth.type', 'Authentication', at + 14, 2, { 0: 'none', 1: 'password', 2: 'digest' });
      d.rest('ospf.auth.data', 'Authentication data', at + 16, 8);
      told = body(d, message, at + HEADER, Math.min(d.end, at + length));
    }
    d.say(`${MESSAGES[message] ?? `message ${message}`} of ${router} in area ${area}${told}`);
    d.go(d.end, NOTHING);
  },
};

function body(d: Description, message: number, at: number, end: number): string {
  if (message === 1) return hello(d, at, end);
  if (message === 2) {
    d.number('ospf.db.interface_mtu', 'MTU', at, 2);
    d.number('ospf.v2.options', 'Options', at + 2, 1);
    d.number('ospf.dbd', 'Flags', at + 3, 1, flagsText);
    d.number('ospf.db.dd_sequence', 'Sequence', at + 4, 4);
    return ` (${flagsText(d.octet(at + 3))}), ${headers(d, at + 8, end)} states`;
  }
  if (message === 3) {
    let count = 0;
    for (let one = at; one + REQUEST <= end; one += REQUEST, count++) {
      d.number('ospf.link_state_type', 'Kind', one, 4, KINDS);
      d.ipv4('ospf.link_state_id', 'State', one + 4);
      d.ipv4('ospf.advrouter', 'Router', one + 8);
    }
    return `, ${count} states`;
  }
  if (message === 4) return updates(d, at, end);
  return message === 5 ? `, ${headers(d, at, end)} states` : '';
}

function hello(d: Description, at: number, end: number): string {
  d.ipv4('ospf.hello.network_mask', 'Mask', at);
  d.number('ospf.hello.hello_interval', 'Hello every (s)', at + 4, 2);
  d.number('ospf.v2.options', 'Options', at + 6, 1);
  d.number('ospf.hello.router_priority', 'Priority', at + 7, 1);
  d.number('ospf.hello.router_dead_interval', 'Dead after (s)', at + 8, 4);
  const designated = d.ipv4('ospf.hello.designated_router', 'Designated router', at + 12);
  d.ipv4('ospf.hello.backup_designated_router', 'Backup', at + 16);
  const neighbours: string[] = [];
  for (let one = at + 20; one + 4 <= end; one += 4)
    neighbours.push(d.ipv4('ospf.hello.active_neighbor', 'Neighbour', one));
  const seen = neighbours.length === 0 ? '' : `, sees ${neighbours.slice(0, 4).join(', ')}`;
  return `, designated ${designated}${seen}`;
}

/** Reads headers of states up to the end, and returns their number. */
function headers(d: Description, from: number, end: number): number {
  let count = 0;
  for (let at = from; at + STATE_HEADER <= end; at += STATE_HEADER, count++) header(d, at);
  return count;
}

function header(d: Description, at: number): string {
  d.bits('ospf.lsa.age', 'Age (s)', at, 2, 0x7fff);
  const kind = d.number('ospf.lsa', 'Kind', at + 3, 1, KINDS);
  d.ipv4('ospf.lsa.id', 'State', at + 4);
  d.ipv4('ospf.advrouter', 'Router', at + 8);
  d.number('ospf.lsa.seqnum', 'Sequence', at + 12, 4);
  d.number('ospf.lsa.chksum', 'Checksum', at + 16, 2);
  return `${KINDS[kind] ?? `kind ${kind}`} ${ipv4Text(d.octets, at + 4)}`;
}

function updates(d: Description, at: number, end: number): string {
  const count = d.number('ospf.ls.number_of_lsas', 'States', at, 4);
  const told: string[] = [];
  let one = at + 4;
  for (let index = 0; index < count && one + STATE_HEADER <= end; index++) {
    const length = d.pair(one + 18);
    told.push(header(d, one));
    if (length < STATE_HEADER) break;
    if (length > STATE_HEADER)
      d.rest('ospf.lsa.content', 'Content', one + STATE_HEADER, Math.min(length, end - one) - STATE_HEADER);
    one += length;
  }
  return `: ${told.slice(0, 4).join(', ')}`;
}

function flagsText(flags: number): string {
  const names = ['master', 'more', 'first'].filter((_, bit) => (flags & (1 << bit)) !== 0);
  return names.length === 0 ? 'none' : names.join(', ');
}
