/** Domain names (RFC 1035): questions and answers, over UDP, and over TCP behind a length. */
import { printable } from './addresses.js';
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { NOTHING } from './protocol-keys.js';

const HEADER = 12;
const TYPES: Readonly<Record<number, string>> = {
  1: 'A',
  2: 'NS',
  5: 'CNAME',
  6: 'SOA',
  12: 'PTR',
  15: 'MX',
  16: 'TXT',
  28: 'AAAA',
  33: 'SRV',
  41: 'OPT',
  255: 'any',
};
const CODES: Readonly<Record<number, string>> = {
  0: 'no error',
  1: 'wrong format',
  2: 'server failure',
  3: 'no such name',
  4: 'not implemented',
  5: 'refused',
};
/** A name has up to 255 octets, so no right one has more pointers and labels than this. */
const MOST_STEPS = 128;
const POINTER = 0xc0;
/** A claim of more records than this is not followed. */
const MOST_RECORDS = 200;

export const DNS = names(0);
export const DNS_STREAM = names(2);

function names(before: number): Protocol {
  return {
    name: 'DNS',
    title: 'Domain names',
    classify(numbers) {
      numbers.go(numbers.end - numbers.at, NOTHING);
    },
    describe(d) {
      if (before > 0) d.number('dns.length', 'Length', d.at, before);
      message(d, d.at + before);
      d.go(d.end, NOTHING);
    },
  };
}

function message(d: Description, at: number): void {
  const id = d.number('dns.id', 'Identifier', at, 2);
  const isAnswer = d.bits('dns.flags.response', 'Response', at + 2, 2, 0x8000) === 1;
  d.bits('dns.flags.opcode', 'Operation', at + 2, 2, 0x7800);
  d.bits('dns.flags.truncated', 'Truncated', at + 2, 2, 0x0200);
  d.bits('dns.flags.recdesired', 'Recursion desired', at + 2, 2, 0x0100);
  const code = isAnswer ? d.bits('dns.flags.rcode', 'Result', at + 2, 2, 0x000f, CODES) : 0;
  const questions = d.number('dns.count.queries', 'Questions', at + 4, 2);
  const answers = d.number('dns.count.answers', 'Answers', at + 6, 2);
  const authorities = d.number('dns.count.auth_rr', 'Authorities', at + 8, 2);
  const others = d.number('dns.count.add_rr', 'More records', at + 10, 2);
  let next = at + HEADER;
  const told: string[] = [];
  for (let index = 0; index < Math.min(questions, MOST_RECORDS) && d.has(next, 5); index++) {
    const { name, end } = nameAt(d, at, next);
    d.note('dns.qry.name', 'Name', next, end - next, name);
    const type = d.number('dns.qry.type', 'Type', end, 2, TYPES);
    d.number('dns.qry.class', 'Class', end + 2, 2);
    told.push(`${TYPES[type] ?? type} ${name}`);
    next = end + 4;
  }
  const records = Math.min(answers + authorities + others, MOST_RECORDS);
  for (let index = 0; index < records && d.has(next, 11); index++) {
    const { text, end } = record(d, at, next);
    if (index < answers && text !== '') told.push(text);
    next = end;
  }
  const result = isAnswer
    ? `answer ${id}${code === 0 ? '' : `, ${CODES[code] ?? `error ${code}`}`}`
    : `question ${id}`;
  d.say(`${result}: ${told.slice(0, 6).join(', ')}`);
}

function record(d: Description, start: number, at: number): { text: string; end: number } {
  const { name, end } = nameAt(d, start, at);
  d.note('dns.resp.name', 'Name', at, end - at, name);
  const type = d.number('dns.resp.type', 'Type', end, 2, TYPES);
  if (type !== 41) d.number('dns.resp.ttl', 'Time to live (s)', end + 4, 4);
  const length = d.pair(end + 8);
  return { text: value(d, start, end + 10, length, type), end: end + 10 + length };
}

function value(d: Description, start: number, at: number, length: number, type: number): string {
  const named = (id: string, title: string, from: number): string => {
    const { name } = nameAt(d, start, from);
    d.note(id, title, from, Math.max(0, at + length - from), name);
    return name;
  };
  if (type === 1 && length === 4) return d.ipv4('dns.a', 'Address', at);
  if (type === 28 && length === 16) return d.ipv6('dns.aaaa', 'Address', at);
  if (type === 2) return named('dns.ns', 'Server', at);
  if (type === 5) return named('dns.cname', 'Canonical name', at);
  if (type === 12) return named('dns.ptr.domain_name', 'Name', at);
  if (type === 15) {
    d.number('dns.mx.preference', 'Preference', at, 2);
    return named('dns.mx.mail_exchange', 'Mail server', at + 2);
  }
  if (type === 16) return d.words('dns.txt', 'Text', at + 1, Math.min(d.octet(at), Math.max(0, length - 1)));
  if (length > 0) d.rest('dns.resp.data', 'Content', at, length);
  return '';
}

/** Reads a name with its pointers, which may lead anywhere: the number of steps is bounded. */
function nameAt(d: Description, start: number, from: number): { name: string; end: number } {
  const labels: string[] = [];
  let end: number | undefined;
  let at = from;
  for (let step = 0; step < MOST_STEPS && d.has(at, 1); step++) {
    const length = d.octet(at);
    if (length === 0) return { name: labels.join('.') || '<Root>', end: end ?? at + 1 };
    if ((length & POINTER) === POINTER) {
      end ??= at + 2;
      at = start + (d.pair(at) & 0x3fff);
    } else {
      labels.push(printable(d.octets, at + 1, Math.min(at + 1 + length, d.end)));
      at += 1 + length;
    }
  }
  return { name: labels.join('.'), end: Math.min(end ?? at, d.end) };
}
