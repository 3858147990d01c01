/** Frame Relay (Q.922): the address, and behind it Cisco's ethertype or the NLPID of RFC 2427. */
import { ethertypeText } from './ethernet.js';
import { LABEL } from './packet-numbers.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const ADDRESS = 2;
const EXTENSION = 1;
const UNNUMBERED = 0x03;
const PADDING = 0x00;
/** The protocol octets of LMI: of Q.933 and ANSI on DLCI 0, of Cisco on 1023. */
const LMI = [
  { dlci: 0, protocol: 0x08 },
  { dlci: 1023, protocol: 0x09 },
];
const NLPIDS: Readonly<Record<number, string>> = {
  0x08: 'Q.933',
  0x09: 'LMI',
  0x80: 'SNAP',
  0x81: 'ISO CLNP',
  0x83: 'IS-IS',
  0x8e: 'IPv6',
  0xcc: 'IPv4',
  0xcf: 'PPP',
};

const isLmi = (dlci: number, protocol: number): boolean =>
  LMI.some((one) => one.dlci === dlci && one.protocol === protocol);

const dlciOf = (first: number, second: number): number => ((first & 0xfc) << 2) | (second >>> 4);

/** Whether the address has two octets. */
const isShort = (first: number, second: number): boolean =>
  (first & EXTENSION) === 0 && (second & EXTENSION) === 1;

export const FRAME_RELAY: Protocol = {
  name: 'Frame Relay',
  title: 'Frame Relay',
  classify(numbers) {
    const [first, second] = [numbers.octet(0), numbers.octet(1)];
    if (!numbers.has(ADDRESS + 2) || !isShort(first, second)) return;
    const dlci = dlciOf(first, second);
    numbers.labelKind = LABEL.dlci;
    numbers.label = dlci;
    if (numbers.octet(ADDRESS) !== UNNUMBERED) {
      numbers.go(
        ADDRESS + 2,
        keyOf(SPACE.hdlc, numbers.pair(ADDRESS)),
        keyOf(SPACE.ethertype, numbers.pair(ADDRESS)),
      );
      return;
    }
    const padding = numbers.octet(ADDRESS + 1) === PADDING ? 1 : 0;
    const nlpid = numbers.octet(ADDRESS + 1 + padding);
    const length = ADDRESS + 2 + padding;
    if (isLmi(dlci, nlpid)) numbers.go(length, keyOf(SPACE.lmi, nlpid));
    else numbers.go(length, keyOf(SPACE.nlpid, nlpid));
  },
  describe(d) {
    const { at } = d;
    const [first, second] = [d.octet(at), d.octet(at + 1)];
    if (!d.has(at, ADDRESS) || !isShort(first, second)) {
      d.say('an address of another length');
      d.go(at, NOTHING);
      return;
    }
    const dlci = dlciOf(first, second);
    d.note('fr.dlci', 'DLCI', at, 2, dlci);
    d.bits('fr.cr', 'Command', at, 1, 0x02);
    d.bits('fr.fecn', 'Congestion ahead', at + 1, 1, 0x08);
    d.bits('fr.becn', 'Congestion behind', at + 1, 1, 0x04);
    d.bits('fr.de', 'Discard eligible', at + 1, 1, 0x02);
    d.between('', `DLCI ${dlci}`);
    d.say(`DLCI ${dlci}`);
    if (d.octet(at + ADDRESS) !== UNNUMBERED) {
      const type = d.number('fr.chdlctype', 'Type', at + ADDRESS, 2, ethertypeText);
      d.go(at + ADDRESS + 2, keyOf(SPACE.hdlc, type), keyOf(SPACE.ethertype, type));
      return;
    }
    d.number('fr.control', 'Control', at + ADDRESS, 1);
    const padding = d.octet(at + ADDRESS + 1) === PADDING ? 1 : 0;
    const nlpid = d.number('fr.nlpid', 'Protocol', at + ADDRESS + 1 + padding, 1, NLPIDS);
    const end = at + ADDRESS + 2 + padding;
    d.go(end, isLmi(dlci, nlpid) ? keyOf(SPACE.lmi, nlpid) : keyOf(SPACE.nlpid, nlpid));
  },
};
