/** Ethernet II and 802.3, and the tags of 802.1Q and 802.1ad. */
import { ABSENT } from './packet-numbers.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const HEADER = 14;
const TAG = 4;
/** Smaller numbers are lengths of 802.3 frames. */
const FIRST_TYPE = 0x600;
/** The key of what follows the length of an 802.3 frame. */
export const LLC_KEY = keyOf(SPACE.llc, 0xffff);

const ETHERTYPES: Readonly<Record<number, string>> = {
  0x0800: 'IPv4',
  0x0806: 'ARP',
  0x8035: 'RARP',
  0x8100: '802.1Q',
  0x86dd: 'IPv6',
  0x8809: 'slow protocols',
  0x8847: 'MPLS',
  0x8863: 'PPPoE discovery',
  0x8864: 'PPPoE',
  0x88a8: '802.1ad',
  0x88cc: 'LLDP',
  0x88e5: 'MACsec',
  0x888e: '802.1X',
  0x9000: 'loopback',
};

export function ethertypeText(type: number): string {
  const name = ETHERTYPES[type];
  const hex = `0x${type.toString(16).padStart(4, '0')}`;
  return name === undefined ? hex : `${name} (${hex})`;
}

function follows(type: number): number {
  return type < FIRST_TYPE ? LLC_KEY : keyOf(SPACE.ethertype, type);
}

export const ETHERNET: Protocol = {
  name: 'Ethernet',
  title: 'Ethernet',
  classify(numbers) {
    if (!numbers.has(HEADER)) return;
    if (numbers.etherAt === ABSENT) numbers.etherAt = numbers.at - numbers.start;
    const type = numbers.pair(12);
    if (type < FIRST_TYPE) numbers.end = Math.min(numbers.end, numbers.at + HEADER + type);
    numbers.go(HEADER, follows(type));
  },
  describe(d) {
    const { at } = d;
    const destination = d.mac('eth.dst', 'Destination', at);
    const source = d.mac('eth.src', 'Source', at + 6);
    d.between(source, destination);
    if (!d.has(at, HEADER)) {
      d.say(`${source} to ${destination}, cut`);
      d.go(d.end, NOTHING);
      return;
    }
    const type = d.pair(at + 12);
    if (type < FIRST_TYPE) {
      d.number('eth.len', 'Length', at + 12, 2);
      d.end = Math.min(d.end, at + HEADER + type);
    } else d.number('eth.type', 'Type', at + 12, 2, ethertypeText);
    const what = type < FIRST_TYPE ? `802.3, ${type} octets` : ethertypeText(type);
    d.say(`${source} to ${destination}, ${what}`);
    d.go(at + HEADER, follows(type));
  },
};

export const VLAN: Protocol = tagged('802.1Q', 'vlan', 'VLAN tag');
export const SERVICE_VLAN: Protocol = tagged('802.1ad', 'ieee8021ad', 'Service VLAN tag');

function tagged(name: string, prefix: string, title: string): Protocol {
  return {
    name,
    title,
    classify(numbers) {
      if (!numbers.has(TAG)) return;
      if (numbers.vlan === ABSENT) numbers.vlan = numbers.pair(0) & 0x0fff;
      const type = numbers.pair(2);
      if (type < FIRST_TYPE) numbers.end = Math.min(numbers.end, numbers.at + TAG + type);
      numbers.go(TAG, follows(type));
    },
    describe(d) {
      const { at } = d;
      const priority = d.bits(`${prefix}.priority`, 'Priority', at, 2, 0xe000);
      d.bits(`${prefix}.dei`, 'Drop eligible', at, 2, 0x1000);
      const vlan = d.bits(`${prefix}.id`, 'VLAN', at, 2, 0x0fff);
      if (!d.has(at, TAG)) {
        d.go(d.end, NOTHING);
        return;
      }
      const type = d.pair(at + 2);
      if (type < FIRST_TYPE) {
        d.number(`${prefix}.len`, 'Length', at + 2, 2);
        d.end = Math.min(d.end, at + TAG + type);
      } else d.number(`${prefix}.etype`, 'Type', at + 2, 2, ethertypeText);
      d.say(`VLAN ${vlan}, priority ${priority}`);
      d.go(at + TAG, follows(type));
    },
  };
}
