/** HDLC as Cisco's routers speak it on serial lines, and its keepalives (SLARP). */
import { ethertypeText } from './ethernet.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const HEADER = 4;
const ADDRESSES = { 0x0f: 'unicast', 0x8f: 'broadcast' } as const;

export const HDLC: Protocol = {
  name: 'HDLC',
  title: 'Cisco HDLC',
  classify(numbers) {
    if (!numbers.has(HEADER)) return;
    const protocol = numbers.pair(2);
    numbers.go(HEADER, keyOf(SPACE.hdlc, protocol), keyOf(SPACE.ethertype, protocol));
  },
  describe(d) {
    const { at } = d;
    d.number('chdlc.address', 'Address', at, 1, ADDRESSES);
    d.number('chdlc.control', 'Control', at + 1, 1);
    const protocol = d.number('chdlc.protocol', 'Protocol', at + 2, 2, ethertypeText);
    d.say(ethertypeText(protocol));
    d.go(at + HEADER, keyOf(SPACE.hdlc, protocol), keyOf(SPACE.ethertype, protocol));
  },
};

const TYPES = { 0: 'address request', 1: 'address reply', 2: 'keepalive' } as const;
const KEEPALIVE = 2;

export const SLARP: Protocol = {
  name: 'SLARP',
  title: 'Serial line keepalive',
  classify(numbers) {
    numbers.go(numbers.end - numbers.at, NOTHING);
  },
  describe(d) {
    const { at } = d;
    const type = d.number('slarp.ptype', 'Type', at, 4, TYPES);
    if (type === KEEPALIVE) {
      const mine = d.number('slarp.mysequence', 'My sequence', at + 4, 4);
      const yours = d.number('slarp.yoursequence', 'Your sequence', at + 8, 4);
      d.say(`keepalive ${mine}, seen ${yours}`);
    } else {
      const address = d.ipv4('slarp.address', 'Address', at + 4);
      d.ipv4('slarp.netmask', 'Mask', at + 8);
      d.say(`${type === 0 ? 'request' : 'reply'} ${address}`);
    }
    d.go(d.end, NOTHING);
  },
};
