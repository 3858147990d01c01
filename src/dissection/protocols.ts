/** All protocols that are read, and by which keys. The number of a protocol is its place in this list. */
import { ARP } from './arp.js';
import { ERF, OAM, SUN_ATM } from './atm.js';
import { BGP } from './bgp.js';
import { CDP } from './cdp.js';
import { DHCP } from './dhcp.js';
import { DNS, DNS_STREAM } from './dns.js';
import { ETHERNET, LLC_KEY, SERVICE_VLAN, VLAN } from './ethernet.js';
import { FRAME_RELAY } from './frame-relay-frame.js';
import { HDLC, SLARP } from './hdlc.js';
import { ICMP, IGMP } from './icmp.js';
import { ICMPV6 } from './icmpv6.js';
import { IPV4 } from './ipv4.js';
import { DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, IPV6, ROUTING } from './ipv6.js';
import { LACP, SLOW } from './lacp.js';
import { BRIDGED_PADDING, LLC, SNAP_HEADER } from './llc.js';
import { LLDP } from './lldp.js';
import { CISCO_LMI, Q933 } from './lmi-message.js';
import { OSPF } from './ospf.js';
import { IPCP, IPV6CP, LCP, PPP } from './ppp.js';
import type { Protocol } from './protocol.js';
import { keyOf, SPACE } from './protocol-keys.js';
import { SPANNING_TREE } from './spanning-tree.js';
import { TCP } from './tcp.js';
import { UDP } from './udp.js';

/** The reader of what no other reads: nothing of it is known but its octets. */
const DATA: Protocol = {
  name: 'Data',
  title: 'Data',
  classify() {
    return;
  },
  describe(d) {
    const length = d.end - d.at;
    d.rest('data', 'Octets', d.at, length);
    d.at = d.end;
  },
};

const { link, ethertype, llc, cisco, bridged, slow, hdlc, ppp, nlpid, lmi, ip, tcp, udp, cell } = SPACE;

/** Each with its keys: a space, and numbers in it. */
const TABLE: readonly (readonly [Protocol, ...(readonly [number, ...number[]])[]])[] = [
  [DATA],
  [ETHERNET, [link, 1]],
  [VLAN, [ethertype, 0x8100]],
  [SERVICE_VLAN, [ethertype, 0x88a8, 0x9100, 0x9200]],
  [LLC, [llc, LLC_KEY]],
  [SNAP_HEADER, [llc, 0xaa], [nlpid, 0x80]],
  [BRIDGED_PADDING, [bridged, 0x0001, 0x0007]],
  [ARP, [ethertype, 0x0806, 0x8035]],
  [IPV4, [ethertype, 0x0800], [ppp, 0x21], [nlpid, 0xcc], [ip, 4]],
  [IPV6, [ethertype, 0x86dd], [ppp, 0x57], [nlpid, 0x8e], [ip, 41]],
  [HOP_BY_HOP, [ip, 0]],
  [ROUTING, [ip, 43]],
  [FRAGMENT, [ip, 44]],
  [DESTINATION_OPTIONS, [ip, 60]],
  [ICMP, [ip, 1]],
  [ICMPV6, [ip, 58]],
  [IGMP, [ip, 2]],
  [TCP, [ip, 6]],
  [UDP, [ip, 17]],
  [SPANNING_TREE, [llc, 0x42], [cisco, 0x010b]],
  [LLDP, [ethertype, 0x88cc]],
  [CDP, [cisco, 0x2000], [hdlc, 0x2000], [ppp, 0x0207]],
  [SLOW, [ethertype, 0x8809]],
  [LACP, [slow, 1]],
  [PPP, [link, 9, 50], [nlpid, 0xcf]],
  [LCP, [ppp, 0xc021]],
  [IPCP, [ppp, 0x8021]],
  [IPV6CP, [ppp, 0x8057]],
  [HDLC, [link, 104]],
  [SLARP, [hdlc, 0x8035]],
  [FRAME_RELAY, [link, 107]],
  [Q933, [lmi, 0x08]],
  [CISCO_LMI, [lmi, 0x09]],
  [SUN_ATM, [link, 123]],
  [ERF, [link, 197]],
  [OAM, [cell, 0]],
  [DHCP, [udp, 67, 68]],
  [DNS, [udp, 53, 5353]],
  [DNS_STREAM, [tcp, 53]],
  [OSPF, [ip, 89]],
  [BGP, [tcp, 179]],
];

export const PROTOCOLS: readonly Protocol[] = TABLE.map(([protocol]) => protocol);

const NUMBERS = new Map(
  TABLE.flatMap(([, ...spaces], number) =>
    spaces.flatMap(([space, ...keys]) => keys.map((key) => [keyOf(space, key), number] as const)),
  ),
);

/** The number of the protocol of one of these keys; 0, that of data, when both are unknown. */
export function protocolAt(next: number, other: number): number {
  return NUMBERS.get(next) ?? NUMBERS.get(other) ?? 0;
}
