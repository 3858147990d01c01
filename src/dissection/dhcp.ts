/** Host configuration (RFC 2131), with the options that people look for. */
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { NOTHING } from './protocol-keys.js';

const OPTIONS_AT = 240;
const MAGIC_AT = 236;
const MAGIC = 0x6382_5363;
const OPERATIONS: Readonly<Record<number, string>> = { 1: 'request', 2: 'reply' };
const MESSAGES: Readonly<Record<number, string>> = {
  1: 'discover',
  2: 'offer',
  3: 'request',
  4: 'decline',
  5: 'ack',
  6: 'nak',
  7: 'release',
  8: 'inform',
};
const OPTION = { pad: 0, end: 255, kind: 53 } as const;

interface OptionForm {
  readonly id: string;
  readonly name: string;
  readonly kind: 'addresses' | 'number' | 'words';
}

const FORMS: Readonly<Record<number, OptionForm>> = {
  1: { id: 'dhcp.option.subnet_mask', name: 'Subnet mask', kind: 'addresses' },
  3: { id: 'dhcp.option.router', name: 'Router', kind: 'addresses' },
  6: { id: 'dhcp.option.domain_name_server', name: 'DNS server', kind: 'addresses' },
  12: { id: 'dhcp.option.hostname', name: 'Host name', kind: 'words' },
  15: { id: 'dhcp.option.domain_name', name: 'Domain', kind: 'words' },
  50: { id: 'dhcp.option.requested_ip_address', name: 'Requested address', kind: 'addresses' },
  51: { id: 'dhcp.option.ip_address_lease_time', name: 'Time of the address (s)', kind: 'number' },
  53: { id: 'dhcp.option.dhcp', name: 'Message', kind: 'number' },
  54: { id: 'dhcp.option.dhcp_server_id', name: 'Server', kind: 'addresses' },
  66: { id: 'dhcp.option.tftp_server_name', name: 'TFTP server', kind: 'words' },
};

export const DHCP: Protocol = {
  name: 'DHCP',
  title: 'Host configuration',
  classify(numbers) {
    numbers.go(numbers.end - numbers.at, NOTHING);
  },
  describe(d) {
    const { at } = d;
    const operation = d.number('dhcp.type', 'Operation', at, 1, OPERATIONS);
    d.number('dhcp.hw.type', 'Hardware type', at + 1, 1);
    const hardware = d.number('dhcp.hw.len', 'Hardware size', at + 2, 1);
    d.number('dhcp.hops', 'Hops', at + 3, 1);
    const id = d.number('dhcp.id', 'Transaction', at + 4, 4);
    d.number('dhcp.secs', 'Seconds', at + 8, 2);
    d.number('dhcp.flags', 'Flags', at + 10, 2);
    d.ipv4('dhcp.ip.client', 'Client', at + 12);
    const yours = d.ipv4('dhcp.ip.your', 'Your address', at + 16);
    d.ipv4('dhcp.ip.server', 'Next server', at + 20);
    d.ipv4('dhcp.ip.relay', 'Relay', at + 24);
    if (hardware === 6) d.mac('dhcp.hw.mac_addr', 'Client hardware', at + 28);
    const magic = d.has(at + MAGIC_AT, 4) ? d.number('dhcp.cookie', 'Magic number', at + MAGIC_AT, 4) : 0;
    const message = magic === MAGIC ? options(d, at + OPTIONS_AT) : 0;
    const name = MESSAGES[message] ?? OPERATIONS[operation] ?? `operation ${operation}`;
    const address = yours === '' || yours === '0.0.0.0' ? '' : ` ${yours}`;
    d.say(`${name}${address}, transaction 0x${id.toString(16).padStart(8, '0')}`);
    d.go(d.end, NOTHING);
  },
};

/** Returns the kind of message; 0 when none is told. */
function options(d: Description, from: number): number {
  let message = 0;
  let at = from;
  while (d.has(at, 1)) {
    const kind = d.number('dhcp.option.type', 'Option', at, 1);
    if (kind === OPTION.end) break;
    if (kind === OPTION.pad) {
      at++;
      continue;
    }
    const length = d.octet(at + 1);
    const found = option(d, kind, at + 2, length);
    if (kind === OPTION.kind) message = found;
    at += 2 + length;
  }
  return message;
}

function option(d: Description, kind: number, at: number, length: number): number {
  const form = FORMS[kind];
  if (form === undefined) {
    if (length > 0) d.rest('dhcp.option.value', `Option ${kind}`, at, length);
    return 0;
  }
  if (form.kind === 'words') d.words(form.id, form.name, at, length);
  else if (form.kind === 'addresses')
    for (let one = at; one + 4 <= at + length; one += 4) d.ipv4(form.id, form.name, one);
  else return d.number(form.id, form.name, at, Math.min(length, 4), kind === OPTION.kind ? MESSAGES : {});
  return 0;
}
