/** Logical link control (802.2), and SNAP, which has an ethertype or a number of a vendor behind it. */
import { ethertypeText } from './ethernet.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const HEADER = 3;
const SNAP = 5;
const UNNUMBERED = 3;
const OUI = { ethernet: 0, bridged: 0x0080c2, cisco: 0x00000c, tunnel: 0x0000f8 } as const;

const POINTS: Readonly<Record<number, string>> = {
  0x00: 'null',
  0x06: 'IP',
  0x42: 'spanning tree',
  0xaa: 'SNAP',
  0xe0: 'NetWare',
  0xf0: 'NetBIOS',
  0xfe: 'ISO network layer',
};

/** The first octets of supervisory and information frames have a second octet of control. */
const controlLength = (control: number): number => ((control & UNNUMBERED) === UNNUMBERED ? 1 : 2);

export const LLC: Protocol = {
  name: 'LLC',
  title: 'Logical link control',
  classify(numbers) {
    if (!numbers.has(HEADER)) return;
    const point = numbers.octet(0);
    numbers.go(2 + controlLength(numbers.octet(2)), keyOf(SPACE.llc, point));
  },
  describe(d) {
    const { at } = d;
    const point = d.number('llc.dsap', 'Destination service', at, 1, POINTS);
    d.number('llc.ssap', 'Source service', at + 1, 1, POINTS);
    const length = controlLength(d.octet(at + 2));
    if (length === 1) d.number('llc.control', 'Control', at + 2, 1, { 3: 'unnumbered information' });
    else d.number('llc.control', 'Control', at + 2, 2);
    d.say(`to ${POINTS[point] ?? `service ${point}`}`);
    d.go(at + 2 + length, keyOf(SPACE.llc, point));
  },
};

function follows(oui: number, type: number): number {
  if (oui === OUI.ethernet || oui === OUI.tunnel) return keyOf(SPACE.ethertype, type);
  if (oui === OUI.cisco) return keyOf(SPACE.cisco, type);
  return oui === OUI.bridged ? keyOf(SPACE.bridged, type) : NOTHING;
}

export const SNAP_HEADER: Protocol = {
  name: 'SNAP',
  title: 'Subnetwork access protocol',
  classify(numbers) {
    if (!numbers.has(SNAP)) return;
    const oui = (numbers.octet(0) << 16) | numbers.pair(1);
    numbers.go(SNAP, follows(oui, numbers.pair(3)));
  },
  describe(d) {
    const { at } = d;
    const oui = d.number('llc.oui', 'Organization', at, 3, {
      [OUI.ethernet]: 'Ethernet',
      [OUI.cisco]: 'Cisco',
      [OUI.bridged]: 'bridged 802.1',
    });
    const isType = oui === OUI.ethernet || oui === OUI.tunnel;
    const id = isType ? 'llc.type' : oui === OUI.cisco ? 'llc.cisco_pid' : 'llc.bridged_pid';
    const type = d.number(id, 'Type', at + 3, 2, ethertypeText);
    d.say(isType ? ethertypeText(type) : `protocol 0x${type.toString(16).padStart(4, '0')}`);
    d.go(at + SNAP, follows(oui, type));
  },
};

/** A bridged frame of Ethernet behind SNAP: two octets of padding lie before it on ATM. */
export const BRIDGED_PADDING: Protocol = {
  name: 'Bridged',
  title: 'Bridged frame',
  classify(numbers) {
    numbers.go(2, keyOf(SPACE.link, 1));
  },
  describe(d) {
    d.rest('bridged.padding', 'Padding', d.at, 2);
    d.say('an Ethernet frame');
    d.go(d.at + 2, keyOf(SPACE.link, 1));
  },
};
