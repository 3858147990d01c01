/** BGP 4 (RFC 4271): all messages of a segment; paths and prefixes of IPv4. */
import { ipv4Text } from './addresses.js';
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { NOTHING } from './protocol-keys.js';

const HEADER = 19;
const MARKER = 16;
const TYPES: Readonly<Record<number, string>> = {
  1: 'open',
  2: 'update',
  3: 'notification',
  4: 'keepalive',
  5: 'route refresh',
};
const ATTRIBUTES: Readonly<Record<number, string>> = {
  1: 'origin',
  2: 'AS path',
  3: 'next hop',
  4: 'discriminator',
  5: 'local preference',
  6: 'atomic aggregate',
  7: 'aggregator',
  8: 'communities',
  14: 'reachable (other families)',
  15: 'unreachable (other families)',
};
const ERRORS: Readonly<Record<number, string>> = {
  1: 'header',
  2: 'open',
  3: 'update',
  4: 'hold time expired',
  5: 'state',
  6: 'cease',
};
const ORIGINS = { 0: 'IGP', 1: 'EGP', 2: 'incomplete' } as const;
const LONG = 0x10;

export const BGP: Protocol = {
  name: 'BGP',
  title: 'Border gateway protocol',
  classify(numbers) {
    numbers.go(numbers.end - numbers.at, NOTHING);
  },
  describe(d) {
    const told: string[] = [];
    let { at } = d;
    // A segment may begin in the middle of a message: then the marker is not there.
    while (d.has(at, HEADER) && hasMarker(d, at)) {
      const length = d.number('bgp.length', 'Length', at + MARKER, 2);
      const type = d.number('bgp.type', 'Type', at + MARKER + 2, 1, TYPES);
      if (length < HEADER) break;
      const end = Math.min(d.end, at + length);
      told.push(`${TYPES[type] ?? `type ${type}`}${body(d, type, at + HEADER, end)}`);
      at += length;
    }
    d.say(told.length === 0 ? 'in the middle of a message' : told.slice(0, 4).join('; '));
    if (at < d.end) d.rest('bgp.rest', 'More octets', at, d.end - at);
    d.go(d.end, NOTHING);
  },
};

function hasMarker(d: Description, at: number): boolean {
  for (let index = 0; index < MARKER; index++) if (d.octet(at + index) !== 0xff) return false;
  return true;
}

function body(d: Description, type: number, at: number, end: number): string {
  if (type === 1) {
    d.number('bgp.open.version', 'Version', at, 1);
    const system = d.number('bgp.open.myas', 'My AS', at + 1, 2);
    d.number('bgp.open.holdtime', 'Hold time (s)', at + 3, 2);
    const id = d.ipv4('bgp.open.identifier', 'Identifier', at + 5);
    const length = d.number('bgp.open.opt.len', 'Length of options', at + 9, 1);
    if (length > 0) d.rest('bgp.open.opt', 'Options', at + 10, Math.max(0, Math.min(length, end - at - 10)));
    return ` of AS ${system}, ${id}`;
  }
  if (type === 2) return update(d, at, end);
  if (type !== 3) return '';
  const error = d.number('bgp.notify.major_error', 'Error', at, 1, ERRORS);
  return `: ${ERRORS[error] ?? `error ${error}`}, ${d.number('bgp.notify.minor_error', 'Detail', at + 1, 1)}`;
}

function update(d: Description, at: number, end: number): string {
  const gone = d.number('bgp.update.withdrawn_routes.length', 'Withdrawn octets', at, 2);
  const withdrawn = prefixes(d, 'bgp.withdrawn_prefix', 'Withdrawn', at + 2, Math.min(end, at + 2 + gone));
  const from = at + 2 + gone;
  const length = from + 2 <= end ? d.number('bgp.update.path_attributes.length', 'Path octets', from, 2) : 0;
  attributes(d, from + 2, Math.min(end, from + 2 + length));
  const added = prefixes(d, 'bgp.nlri_prefix', 'Prefix', from + 2 + length, end);
  const told = [...added.map((one) => `+${one}`), ...withdrawn.map((one) => `-${one}`)];
  const more = told.length > 3 ? ` and ${told.length - 3} more` : '';
  return ` ${told.slice(0, 3).join(' ')}${more}`.trimEnd();
}

function prefixes(d: Description, id: string, name: string, from: number, end: number): string[] {
  const found: string[] = [];
  let at = from;
  while (at < end) {
    const bits = d.octet(at);
    const octets = Math.ceil(bits / 8);
    if (bits > 32 || at + 1 + octets > end) break;
    const address = new Uint8Array(4);
    address.set(d.octets.subarray(at + 1, at + 1 + octets));
    const text = ipv4Text(address, 0);
    d.note(id, name, at, 1 + octets, text, `${text}/${bits}`);
    found.push(`${text}/${bits}`);
    at += 1 + octets;
  }
  return found;
}

function attributes(d: Description, from: number, end: number): void {
  let at = from;
  while (at + 3 <= end) {
    const isLong = (d.octet(at) & LONG) !== 0;
    const kind = d.number('bgp.update.path_attribute.type_code', 'Attribute', at + 1, 1, ATTRIBUTES);
    const length = isLong ? d.pair(at + 2) : d.octet(at + 2);
    const value = at + (isLong ? 4 : 3);
    if (value + length > end) break;
    const id = 'bgp.update.path_attribute';
    if (kind === 1) d.number(`${id}.origin`, 'Origin', value, 1, ORIGINS);
    else if (kind === 3 && length === 4) d.ipv4(`${id}.next_hop`, 'Next hop', value);
    else if (kind === 4 && length === 4) d.number(`${id}.multi_exit_disc`, 'Discriminator', value, 4);
    else if (kind === 5 && length === 4) d.number(`${id}.local_pref`, 'Local preference', value, 4);
    else if (length > 0) d.rest(`${id}.value`, ATTRIBUTES[kind] ?? 'Value', value, length);
    at = value + length;
  }
}
