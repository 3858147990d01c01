/** The comparisons of a display filter, each as a test of one packet: over columns where they suffice, else over fields. */
import { ABSENT, LABEL } from '../../dissection/packet-numbers.js';
import { PROTOCOLS } from '../../dissection/protocols.js';
import { TCP_FLAGS } from '../../dissection/tcp.js';
import { addressPattern, type AddressPattern } from './address-pattern.js';
import { WrongFilter, type FilterWord } from './filter-words.js';
import type { PacketView } from './packet-view.js';

export interface FilterTest {
  readonly matches: (packet: PacketView) => boolean;
  /** Whether the packet has to be described for it. */
  readonly isSlow: boolean;
}

type NumberOf = (packet: PacketView) => number;

const WORD_BITS = 32;
const nameOf = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
/** Protocols by their names without signs; several may have one name. */
const NUMBERS = new Map<string, number[]>();
PROTOCOLS.forEach(({ name }, number) => {
  NUMBERS.set(nameOf(name), [...(NUMBERS.get(nameOf(name)) ?? []), number]);
});
const layerNumber = (text: string): readonly number[] | undefined => NUMBERS.get(nameOf(text));

const fast = (matches: FilterTest['matches']): FilterTest => ({ matches, isSlow: false });
const slow = (matches: FilterTest['matches']): FilterTest => ({ matches, isSlow: true });

function hasLayer({ columns, row }: PacketView, numbers: readonly number[]): boolean {
  return numbers.some((number) => {
    const bits = number < WORD_BITS ? columns.layersLow[row] : columns.layersHigh[row];
    return ((bits ?? 0) & (1 << (number % WORD_BITS))) !== 0;
  });
}

const layer = (name: string): readonly number[] => layerNumber(name) ?? [];
const [TCP, UDP] = [layer('TCP'), layer('UDP')];

const source: NumberOf = ({ columns, row }) => columns.sourcePort[row] ?? ABSENT;
const destination: NumberOf = ({ columns, row }) => columns.destinationPort[row] ?? ABSENT;
const only =
  (numbers: readonly number[], value: NumberOf): NumberOf =>
  (packet) =>
    hasLayer(packet, numbers) ? value(packet) : -1;
const labelled =
  (kind: number, value: (label: number) => number): NumberOf =>
  ({ columns, row }) =>
    columns.labelKind[row] === kind ? value(columns.label[row] ?? 0) : -1;

/** The numbers of a name; a packet without it has -1. */
const COLUMNS: Readonly<Record<string, readonly NumberOf[]>> = {
  'tcp.port': [only(TCP, source), only(TCP, destination)],
  'tcp.srcport': [only(TCP, source)],
  'tcp.dstport': [only(TCP, destination)],
  'udp.port': [only(UDP, source), only(UDP, destination)],
  'udp.srcport': [only(UDP, source)],
  'udp.dstport': [only(UDP, destination)],
  'tcp.flags': [only(TCP, ({ columns, row }) => columns.tcpFlags[row] ?? 0)],
  vlan: [({ columns, row }) => (columns.vlan[row] === ABSENT ? -1 : (columns.vlan[row] ?? -1))],
  vpi: [labelled(LABEL.cell, (label) => label >>> 16)],
  vci: [labelled(LABEL.cell, (label) => label & 0xffff)],
  dlci: [labelled(LABEL.dlci, (label) => label)],
  len: [({ columns, row }) => columns.original[row] ?? 0],
};

const ADDRESSES: Readonly<Record<string, readonly ('ip' | 'ether' | 'source' | 'destination')[]>> = {
  'ip.addr': ['ip', 'source', 'destination'],
  'ip.src': ['ip', 'source'],
  'ip.dst': ['ip', 'destination'],
  'eth.addr': ['ether', 'source', 'destination'],
  'eth.src': ['ether', 'source'],
  'eth.dst': ['ether', 'destination'],
};

const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '==': (a, b) => a === b,
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
};

/** A name alone: the packet has that layer, that flag, or that field. */
export function presenceTest({ text, at }: FilterWord): FilterTest {
  const numbers = layerNumber(text);
  if (numbers !== undefined) return fast((packet) => hasLayer(packet, numbers));
  const flag = /^tcp\.flags\.(\w+)$/.exec(text)?.[1] ?? '';
  const bit = Object.entries(TCP_FLAGS).find(([name]) => name === flag)?.[1];
  if (bit !== undefined) return fast(({ columns, row }) => ((columns.tcpFlags[row] ?? 0) & bit) !== 0);
  const columns = COLUMNS[text];
  if (columns !== undefined) return fast((packet) => columns.some((value) => value(packet) >= 0));
  if (!text.includes('.')) throw new WrongFilter(at, `there is no protocol and no field '${text}'`);
  return slow((packet) => packet.fields().some(({ id }) => id === text));
}

/** `!=` is true for a packet that has no such value; with several, none may be equal. */
export function comparisonTest(name: FilterWord, sign: FilterWord, value: FilterWord): FilterTest {
  if (sign.text !== '!=') return positiveTest(name, sign, value);
  const { matches, isSlow } = positiveTest(name, { ...sign, text: '==' }, value);
  return { matches: (packet) => !matches(packet), isSlow };
}

function positiveTest(name: FilterWord, sign: FilterWord, value: FilterWord): FilterTest {
  const wanted = value.text.toLowerCase();
  if (name.text === 'text') {
    if (sign.text !== '~') throw new WrongFilter(sign.at, "text is searched by '~'");
    return slow((packet) => packet.text().includes(wanted));
  }
  if (name.text === 'proto') {
    const numbers = layerNumber(value.text);
    if (numbers === undefined) throw new WrongFilter(value.at, `there is no protocol '${value.text}'`);
    onlyEquals(sign);
    return fast((packet) => hasLayer(packet, numbers));
  }
  if (name.text === 'link') {
    if (sign.text === '~') return fast((packet) => packet.link().toLowerCase().includes(wanted));
    onlyEquals(sign);
    return fast((packet) => packet.link().toLowerCase() === wanted);
  }
  if (name.text === 'dir') {
    const way = ['in', 'out'].indexOf(wanted) + 1;
    if (way === 0) throw new WrongFilter(value.at, "the way is 'in' or 'out'");
    onlyEquals(sign);
    return fast(({ columns, row }) => columns.direction[row] === way);
  }
  const addresses = ADDRESSES[name.text];
  if (addresses !== undefined) {
    onlyEquals(sign);
    const pattern = addressPattern(value.text, addresses.includes('ether'));
    if (pattern === undefined) throw new WrongFilter(value.at, `'${value.text}' is no address`);
    return addressTest(pattern, addresses.includes('source'), addresses.includes('destination'));
  }
  const columns = COLUMNS[name.text];
  const compare = COMPARISONS[sign.text];
  if (columns === undefined) return fieldTest(name, sign, value);
  if (compare === undefined) throw new WrongFilter(sign.at, `numbers have no '${sign.text}'`);
  const number = numberOf(value);
  return fast((packet) =>
    columns.some((column) => {
      const found = column(packet);
      return found >= 0 && compare(found, number);
    }),
  );
}

function addressTest(pattern: AddressPattern, hasSource: boolean, hasDestination: boolean): FilterTest {
  return fast((packet) => {
    if (pattern.version !== packet.addressVersion(pattern.isEther)) return false;
    if (hasSource && pattern.matches(packet.ring, packet.addressAt(pattern.isEther, true))) return true;
    return hasDestination && pattern.matches(packet.ring, packet.addressAt(pattern.isEther, false));
  });
}

function fieldTest(name: FilterWord, sign: FilterWord, value: FilterWord): FilterTest {
  if (!name.text.includes('.')) throw new WrongFilter(name.at, `there is no field '${name.text}'`);
  const wanted = value.text.toLowerCase();
  const number = Number(value.text);
  const compare = COMPARISONS[sign.text];
  return slow((packet) =>
    packet.fields().some(({ id, value: found, text }) => {
      if (id !== name.text) return false;
      if (compare === undefined) return text.toLowerCase().includes(wanted);
      return typeof found === 'number'
        ? compare(found, number)
        : sign.text === '==' && found.toLowerCase() === wanted;
    }),
  );
}

function onlyEquals(sign: FilterWord): void {
  if (sign.text !== '==') throw new WrongFilter(sign.at, "only '==' and '!=' are possible here");
}

function numberOf({ text, at }: FilterWord): number {
  if (!/^(0x[0-9a-f]+|\d+)$/i.test(text)) throw new WrongFilter(at, `'${text}' is no number`);
  return Number(text);
}
