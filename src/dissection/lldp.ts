/** Link-layer discovery (802.1AB). */
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { NOTHING } from './protocol-keys.js';

const KIND = {
  end: 0,
  chassis: 1,
  port: 2,
  life: 3,
  portDescription: 4,
  name: 5,
  description: 6,
  capabilities: 7,
  management: 8,
  organization: 127,
} as const;
const KINDS: Readonly<Record<number, string>> = {
  0: 'end',
  1: 'chassis',
  2: 'port',
  3: 'time to live',
  4: 'port description',
  5: 'system name',
  6: 'system description',
  7: 'capabilities',
  8: 'management address',
  127: 'of an organization',
};
const CHASSIS_MAC = 4;
const CHASSIS_NETWORK = 5;
const PORT_MAC = 3;
const IPV4_FAMILY = 1;

export const LLDP: Protocol = {
  name: 'LLDP',
  title: 'Link-layer discovery',
  classify(numbers) {
    numbers.go(numbers.end - numbers.at, NOTHING);
  },
  describe(d) {
    const told: Record<number, string> = {};
    let { at } = d;
    while (d.has(at, 2)) {
      const kind = d.bits('lldp.tlv.type', 'Kind', at, 2, 0xfe00, KINDS);
      const length = d.bits('lldp.tlv.len', 'Length', at, 2, 0x01ff);
      told[kind] = element(d, kind, at + 2, length);
      at += 2 + length;
      if (kind === KIND.end) break;
    }
    const name = told[KIND.name] ?? told[KIND.chassis] ?? '';
    d.say(`${name} port ${told[KIND.port] ?? ''}, for ${told[KIND.life] ?? ''} s`);
    d.go(at, NOTHING);
  },
};

function element(d: Description, kind: number, at: number, length: number): string {
  switch (kind) {
    case KIND.chassis: {
      const subtype = d.number('lldp.chassis.subtype', 'Chassis kind', at, 1);
      if (subtype === CHASSIS_MAC && length === 7) return d.mac('lldp.chassis.id.mac', 'Chassis', at + 1);
      if (subtype === CHASSIS_NETWORK && length === 6)
        return d.ipv4('lldp.chassis.id.ip4', 'Chassis', at + 2);
      return d.words('lldp.chassis.id', 'Chassis', at + 1, Math.max(0, length - 1));
    }
    case KIND.port: {
      const subtype = d.number('lldp.port.subtype', 'Port kind', at, 1);
      if (subtype === PORT_MAC && length === 7) return d.mac('lldp.port.id.mac', 'Port', at + 1);
      return d.words('lldp.port.id', 'Port', at + 1, Math.max(0, length - 1));
    }
    case KIND.life:
      return String(d.number('lldp.time_to_live', 'Time to live (s)', at, 2));
    case KIND.portDescription:
      return d.words('lldp.port.desc', 'Port description', at, length);
    case KIND.name:
      return d.words('lldp.tlv.system.name', 'System name', at, length);
    case KIND.description:
      return d.words('lldp.tlv.system.desc', 'System description', at, length);
    case KIND.capabilities:
      d.number('lldp.tlv.system_cap', 'Can', at, 2, capabilities);
      d.number('lldp.tlv.enable_system_cap', 'Does', at + 2, 2, capabilities);
      return '';
    case KIND.management:
      if (d.octet(at) === 5 && d.octet(at + 1) === IPV4_FAMILY)
        return d.ipv4('lldp.mgn.addr.ip4', 'Management address', at + 2);
      return d.rest('lldp.mgn.addr', 'Management address', at, length);
    case KIND.organization: {
      d.number('lldp.orgtlv.oui', 'Organization', at, 3);
      return d.rest('lldp.orgtlv.content', 'Content', at + 3, Math.max(0, length - 3));
    }
    default:
      return length > 0 ? d.rest('lldp.unknown', 'Content', at, length) : '';
  }
}

const ABILITIES = ['other', 'repeater', 'bridge', 'access point', 'router', 'telephone', 'cable', 'station'];

function capabilities(bits: number): string {
  const names = ABILITIES.filter((_, bit) => (bits & (1 << bit)) !== 0);
  return names.length === 0 ? 'none' : names.join(', ');
}
