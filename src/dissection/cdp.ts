/** The discovery protocol of Cisco. */
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { NOTHING } from './protocol-keys.js';

const HEADER = 4;
const ELEMENT = 4;
const KIND = {
  device: 1,
  addresses: 2,
  port: 3,
  capabilities: 4,
  software: 5,
  platform: 6,
  domain: 9,
  vlan: 10,
  duplex: 11,
  management: 22,
} as const;
const KINDS: Readonly<Record<number, string>> = {
  1: 'device',
  2: 'addresses',
  3: 'port',
  4: 'capabilities',
  5: 'software',
  6: 'platform',
  7: 'prefixes',
  9: 'VTP domain',
  10: 'native VLAN',
  11: 'duplex',
  14: 'voice VLAN',
  22: 'management addresses',
};
const IPV4_PROTOCOL = 0xcc;

export const CDP: Protocol = {
  name: 'CDP',
  title: 'Cisco discovery',
  classify(numbers) {
    numbers.go(numbers.end - numbers.at, NOTHING);
  },
  describe(d) {
    d.number('cdp.version', 'Version', d.at, 1);
    const life = d.number('cdp.ttl', 'Time to live (s)', d.at + 1, 1);
    d.number('cdp.checksum', 'Checksum', d.at + 2, 2);
    const told: Record<number, string> = {};
    let at = d.at + HEADER;
    while (d.has(at, ELEMENT)) {
      const kind = d.number('cdp.tlv.type', 'Kind', at, 2, KINDS);
      const length = d.number('cdp.tlv.len', 'Length', at + 2, 2);
      if (length < ELEMENT) break;
      told[kind] = element(d, kind, at + ELEMENT, length - ELEMENT);
      at += length;
    }
    d.say(`${told[KIND.device] ?? ''} port ${told[KIND.port] ?? ''}, for ${life} s`);
    d.go(d.end, NOTHING);
  },
};

function element(d: Description, kind: number, at: number, length: number): string {
  switch (kind) {
    case KIND.device:
      return d.words('cdp.deviceid', 'Device', at, length);
    case KIND.port:
      return d.words('cdp.portid', 'Port', at, length);
    case KIND.software:
      return d.words('cdp.software_version', 'Software', at, length);
    case KIND.platform:
      return d.words('cdp.platform', 'Platform', at, length);
    case KIND.domain:
      return d.words('cdp.vtp_management_domain', 'VTP domain', at, length);
    case KIND.capabilities:
      return String(d.number('cdp.capabilities', 'Capabilities', at, 4));
    case KIND.vlan:
      return String(d.number('cdp.native_vlan', 'Native VLAN', at, 2));
    case KIND.duplex:
      return String(d.number('cdp.duplex', 'Duplex', at, 1, { 0: 'half', 1: 'full' }));
    case KIND.addresses:
    case KIND.management:
      return addresses(d, at, at + length);
    default:
      return length > 0 ? d.rest('cdp.data', 'Content', at, length) : '';
  }
}

/** Each is a kind of protocol, its length and value, and the address with its length before it. */
function addresses(d: Description, from: number, end: number): string {
  const count = d.number('cdp.number_of_addresses', 'Addresses', from, 4);
  let at = from + 4;
  for (let index = 0; index < count && at + 4 <= end && d.has(at, 4); index++) {
    const protocol = d.octet(at + 1);
    const length = d.pair(at + 2 + protocol);
    const address = at + 4 + protocol;
    if (protocol === 1 && d.octet(at + 2) === IPV4_PROTOCOL && length === 4)
      d.ipv4('cdp.nrgyz.ip_address', 'Address', address);
    else d.rest('cdp.address', 'Address', address, length);
    at = address + length;
  }
  return '';
}
