/** ATM: AAL5 frames behind the header of SunATM, and single cells in ERF records, with OAM. */
import { LABEL } from './packet-numbers.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const SUN_HEADER = 4;
const TRAFFIC = { 1: 'LANE', 2: 'LLC', 5: 'ILMI', 6: 'signalling' } as const;
const LLC = 2;
const LLC_START = 0xaaaa;
/** Without LLC, the first octet of IPv4 tells that it is IP. */
const IP_START = 0x45;

function follows(traffic: number, start: number): number {
  if (traffic === LLC || start === LLC_START) return keyOf(SPACE.llc, 0xffff);
  return start >>> 8 === IP_START ? keyOf(SPACE.ethertype, 0x0800) : NOTHING;
}

export const SUN_ATM: Protocol = {
  name: 'AAL5',
  title: 'ATM, an AAL5 frame',
  classify(numbers) {
    if (!numbers.has(SUN_HEADER)) return;
    numbers.labelKind = LABEL.cell;
    numbers.label = ((numbers.octet(1) << 16) | numbers.pair(2)) >>> 0;
    numbers.go(SUN_HEADER, follows(numbers.octet(0) & 0x0f, numbers.pair(SUN_HEADER)));
  },
  describe(d) {
    const { at } = d;
    d.bits('atm.direction', 'Direction', at, 1, 0x80, { 0: 'in', 1: 'out' });
    const traffic = d.bits('atm.traffic_type', 'Traffic', at, 1, 0x0f, TRAFFIC);
    const vpi = d.number('atm.vpi', 'VPI', at + 1, 1);
    const vci = d.number('atm.vci', 'VCI', at + 2, 2);
    d.between('', `${vpi}/${vci}`);
    d.say(`VPI ${vpi}, VCI ${vci}, ${Math.max(0, d.end - at - SUN_HEADER)} octets`);
    d.go(at + SUN_HEADER, follows(traffic, d.pair(at + SUN_HEADER)));
  },
};

const ERF_HEADER = 16;
const CELL_HEADER = 4;
const TYPE_ATM = 3;
const AT = { type: 8, flags: 9, length: 10, lost: 12, wire: 14 } as const;
/** The kinds of payload from this one on are management. */
const FIRST_MANAGEMENT = 4;
const PAYLOADS: Readonly<Record<number, string>> = {
  0: 'data',
  1: 'data, last of a frame',
  2: 'data, congested',
  3: 'data, congested, last of a frame',
  4: 'OAM segment (F5)',
  5: 'OAM end to end (F5)',
  6: 'resources',
};
/** Channels of management of a whole path. */
const PATH_CHANNELS: readonly number[] = [3, 4];

const isManagement = (vci: number, kind: number): boolean =>
  kind === FIRST_MANAGEMENT || kind === FIRST_MANAGEMENT + 1 || PATH_CHANNELS.includes(vci);

export const ERF: Protocol = {
  name: 'ATM cell',
  title: 'ERF record with an ATM cell',
  classify(numbers) {
    if (!numbers.has(ERF_HEADER + CELL_HEADER) || (numbers.octet(AT.type) & 0x7f) !== TYPE_ATM) return;
    const [high, low] = [numbers.pair(ERF_HEADER), numbers.pair(ERF_HEADER + 2)];
    const [vpi, vci] = [high >>> 4, ((high & 0xf) << 12) | (low >>> 4)];
    numbers.labelKind = LABEL.cell;
    numbers.label = ((vpi << 16) | vci) >>> 0;
    const isOam = isManagement(vci, (low >>> 1) & 7);
    numbers.go(ERF_HEADER + CELL_HEADER, isOam ? keyOf(SPACE.cell, 0) : NOTHING);
  },
  describe(d) {
    const { at } = d;
    const type = d.bits('erf.types.type', 'Record type', at + AT.type, 1, 0x7f);
    d.bits('erf.flags.cap', 'Interface', at + AT.flags, 1, 0x03);
    d.number('erf.rlen', 'Record length', at + AT.length, 2);
    d.number('erf.lctr', 'Lost', at + AT.lost, 2);
    d.number('erf.wlen', 'Length on the wire', at + AT.wire, 2);
    if (type !== TYPE_ATM) {
      d.say(`record of type ${type}`);
      d.go(at + ERF_HEADER, NOTHING);
      return;
    }
    const cell = at + ERF_HEADER;
    const vpi = d.bits('atm.vpi', 'VPI', cell, 4, 0xfff0_0000);
    const vci = d.bits('atm.vci', 'VCI', cell, 4, 0x000f_fff0);
    const kind = d.bits('atm.payload_type', 'Payload', cell, 4, 0x0e, PAYLOADS);
    d.bits('atm.cell_loss_priority', 'Loss priority', cell, 4, 0x01);
    d.between('', `${vpi}/${vci}`);
    d.say(`VPI ${vpi}, VCI ${vci}, ${PAYLOADS[kind] ?? `payload ${kind}`}`);
    d.go(
      cell + CELL_HEADER,
      d.has(cell, CELL_HEADER) && isManagement(vci, kind) ? keyOf(SPACE.cell, 0) : NOTHING,
    );
  },
};

const FUNCTIONS: Readonly<Record<number, string>> = {
  0x10: 'alarm indication',
  0x11: 'remote defect',
  0x14: 'continuity check',
  0x18: 'loopback',
};

export const OAM: Protocol = {
  name: 'OAM',
  title: 'Operation and maintenance',
  classify(numbers) {
    numbers.go(numbers.end - numbers.at, NOTHING);
  },
  describe(d) {
    const { at } = d;
    const kind = d.octet(at);
    d.bits('atm.aal_oamcell.type', 'Kind', at, 1, 0xf0, { 1: 'faults', 2: 'performance', 8: 'activation' });
    const isFault = kind >>> 4 === 1;
    d.bits(isFault ? 'atm.aal_oamcell.type.fm' : 'atm.function', 'Function', at, 1, 0x0f);
    d.say(FUNCTIONS[kind] ?? `function 0x${kind.toString(16)}`);
    d.rest('atm.aal_oamcell.func_spec', 'Content', at + 1, Math.max(0, Math.min(45, d.end - at - 1)));
    d.bits('atm.aal_oamcell.crc', 'CRC', at + 46, 2, 0x03ff);
    d.go(d.end, NOTHING);
  },
};
