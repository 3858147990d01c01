/** The point-to-point protocol (RFC 1661) with its control protocols. */
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const FRAMED = 0xff03;
const PROTOCOLS: Readonly<Record<number, string>> = {
  0x0021: 'IPv4',
  0x0057: 'IPv6',
  0x0207: 'CDP',
  0x8021: 'IPCP',
  0x8057: 'IPv6CP',
  0x8207: 'CDPCP',
  0xc021: 'LCP',
  0xc023: 'PAP',
  0xc025: 'link quality',
  0xc223: 'CHAP',
};

/** Address and control may be left out, and so may the first octet of the protocol, which is even then. */
const headerOf = (first: number): number => (first === FRAMED ? 2 : 0);
const protocolLength = (octet: number): number => ((octet & 1) === 1 ? 1 : 2);

export const PPP: Protocol = {
  name: 'PPP',
  title: 'Point-to-point protocol',
  classify(numbers) {
    const header = headerOf(numbers.pair(0));
    const length = protocolLength(numbers.octet(header));
    if (!numbers.has(header + length)) return;
    const protocol = length === 1 ? numbers.octet(header) : numbers.pair(header);
    numbers.go(header + length, keyOf(SPACE.ppp, protocol));
  },
  describe(d) {
    const header = headerOf(d.pair(d.at));
    if (header > 0) {
      d.number('ppp.address', 'Address', d.at, 1);
      d.number('ppp.control', 'Control', d.at + 1, 1);
    }
    const at = d.at + header;
    const length = protocolLength(d.octet(at));
    const protocol = d.number('ppp.protocol', 'Protocol', at, length, PROTOCOLS);
    d.say(PROTOCOLS[protocol] ?? `protocol 0x${protocol.toString(16)}`);
    d.go(at + length, d.has(at, length) ? keyOf(SPACE.ppp, protocol) : NOTHING);
  },
};

const CODES: Readonly<Record<number, string>> = {
  1: 'configure request',
  2: 'configure ack',
  3: 'configure nak',
  4: 'configure reject',
  5: 'terminate request',
  6: 'terminate ack',
  7: 'code reject',
  8: 'protocol reject',
  9: 'echo request',
  10: 'echo reply',
  11: 'discard request',
};
const FIRST_WITHOUT_OPTIONS = 5;
const HEADER = 4;

interface OptionForm {
  readonly id: string;
  readonly name: string;
  readonly length: number;
  readonly isAddress?: boolean;
}

export const LCP = control('LCP', 'Link control', 'lcp', {
  1: { id: 'lcp.opt.mru', name: 'Largest unit', length: 2 },
  3: { id: 'lcp.opt.auth_protocol', name: 'Authentication', length: 2 },
  5: { id: 'lcp.opt.magic_number', name: 'Magic number', length: 4 },
});
export const IPCP = control('IPCP', 'IPv4 control', 'ipcp', {
  3: { id: 'ipcp.opt.ip_address', name: 'Address', length: 4, isAddress: true },
  129: { id: 'ipcp.opt.pri_dns_address', name: 'First DNS server', length: 4, isAddress: true },
  131: { id: 'ipcp.opt.sec_dns_address', name: 'Second DNS server', length: 4, isAddress: true },
});
export const IPV6CP = control('IPv6CP', 'IPv6 control', 'ipv6cp', {});

function control(
  name: string,
  title: string,
  prefix: string,
  forms: Readonly<Record<number, OptionForm>>,
): Protocol {
  return {
    name,
    title,
    classify(numbers) {
      numbers.go(numbers.end - numbers.at, NOTHING);
    },
    describe(d) {
      const { at } = d;
      const code = d.number('ppp.code', 'Code', at, 1, CODES);
      const id = d.number('ppp.identifier', 'Identifier', at + 1, 1);
      const length = d.number('ppp.length', 'Length', at + 2, 2);
      d.end = Math.min(d.end, at + Math.max(HEADER, length));
      if (code < FIRST_WITHOUT_OPTIONS) options(d, at + HEADER, prefix, forms);
      else if (d.has(at, HEADER + 1)) d.rest(`${prefix}.data`, 'Content', at + HEADER, d.end - at - HEADER);
      d.say(`${CODES[code] ?? `code ${code}`} ${id}`);
      d.go(d.end, NOTHING);
    },
  };
}

function options(
  d: Description,
  from: number,
  prefix: string,
  forms: Readonly<Record<number, OptionForm>>,
): void {
  let at = from;
  while (d.has(at, 2)) {
    const type = d.number(`${prefix}.opt.type`, 'Option', at, 1);
    const length = d.number(`${prefix}.opt.length`, 'Option length', at + 1, 1);
    if (length < 2) break;
    const form = forms[type];
    if (form?.isAddress === true && length === 6) d.ipv4(form.id, form.name, at + 2);
    else if (form !== undefined && length >= form.length + 2)
      d.number(form.id, form.name, at + 2, form.length);
    else if (length > 2) d.rest(`${prefix}.opt.content`, 'Content', at + 2, length - 2);
    at += length;
  }
}
