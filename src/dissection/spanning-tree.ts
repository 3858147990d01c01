/** The spanning tree (802.1D) and its rapid form (802.1w); of multiple trees (802.1s) the common one. */
import { macText } from './addresses.js';
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { NOTHING } from './protocol-keys.js';

const TYPE = { configuration: 0, change: 0x80, rapid: 2 } as const;
const TYPES = { 0: 'configuration', 0x80: 'topology change', 2: 'rapid' } as const;
const VERSIONS = { 0: 'spanning tree', 2: 'rapid', 3: 'multiple' } as const;
const ROLES = { 0: 'unknown', 1: 'alternate or backup', 2: 'root', 3: 'designated' } as const;
const CONFIGURATION = 35;
const IDENTIFIER = { root: 5, bridge: 17 } as const;
/** Times are in units of 1/256 second. */
const UNITS_A_SECOND = 256;

export const SPANNING_TREE: Protocol = {
  name: 'STP',
  title: 'Spanning tree',
  classify(numbers) {
    numbers.go(numbers.end - numbers.at, NOTHING);
  },
  describe(d) {
    const { at } = d;
    d.number('stp.protocol', 'Protocol', at, 2);
    d.number('stp.version', 'Version', at + 2, 1, VERSIONS);
    const type = d.number('stp.type', 'Type', at + 3, 1, TYPES);
    if (type === TYPE.configuration || type === TYPE.rapid) tree(d, at, type);
    else d.say(type === TYPE.change ? 'topology change' : `type ${type}`);
    const most = type === TYPE.rapid ? d.end : at + (type === TYPE.configuration ? CONFIGURATION : 4);
    d.go(most, NOTHING);
  },
};

function tree(d: Description, at: number, type: number): void {
  flags(d, at + 4, type);
  const root = bridge(d, 'root', 'Root', at + IDENTIFIER.root);
  const cost = d.number('stp.root.cost', 'Cost to the root', at + 13, 4);
  const from = bridge(d, 'bridge', 'Bridge', at + IDENTIFIER.bridge);
  const port = d.number('stp.port', 'Port', at + 25, 2);
  time(d, 'stp.msg_age', 'Age', at + 27);
  time(d, 'stp.max_age', 'Largest age', at + 29);
  time(d, 'stp.hello', 'Hello time', at + 31);
  time(d, 'stp.forward', 'Forward delay', at + 33);
  if (type === TYPE.rapid) d.number('stp.version_1_length', 'Version 1 length', at + CONFIGURATION, 1);
  const name = type === TYPE.rapid ? 'rapid' : 'configuration';
  d.say(`${name}: root ${root}, cost ${cost}, from ${from} port 0x${port.toString(16).padStart(4, '0')}`);
}

function flags(d: Description, at: number, type: number): void {
  d.bits('stp.flags.tcack', 'Change acknowledged', at, 1, 0x80);
  if (type === TYPE.rapid) {
    d.bits('stp.flags.agreement', 'Agreement', at, 1, 0x40);
    d.bits('stp.flags.forwarding', 'Forwarding', at, 1, 0x20);
    d.bits('stp.flags.learning', 'Learning', at, 1, 0x10);
    d.bits('stp.flags.port_role', 'Role of the port', at, 1, 0x0c, ROLES);
    d.bits('stp.flags.proposal', 'Proposal', at, 1, 0x02);
  }
  d.bits('stp.flags.tc', 'Topology change', at, 1, 0x01);
}

function bridge(d: Description, id: string, name: string, at: number): string {
  const priority = d.pair(at) & 0xf000;
  const extension = d.bits(`stp.${id}.ext`, `${name} VLAN`, at, 2, 0x0fff);
  d.note(`stp.${id}.prio`, `${name} priority`, at, 2, priority);
  d.mac(`stp.${id}.hw`, `${name} address`, at + 2);
  return `${priority}/${extension}/${macText(d.octets, at + 2)}`;
}

function time(d: Description, id: string, name: string, at: number): void {
  const seconds = d.pair(at) / UNITS_A_SECOND;
  d.note(id, name, at, 2, seconds, `${Math.round(seconds * 1000) / 1000} s`);
}
