/** Transmission control (RFC 9293). */
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const LEAST = 20;
export const TCP_FLAGS = {
  fin: 0x01,
  syn: 0x02,
  reset: 0x04,
  push: 0x08,
  ack: 0x10,
  urg: 0x20,
  ece: 0x40,
  cwr: 0x80,
} as const;
const KIND = { end: 0, nothing: 1, segment: 2, scale: 3, selective: 4, times: 8 } as const;
const KINDS: Readonly<Record<number, string>> = {
  0: 'end',
  1: 'nothing',
  2: 'largest segment',
  3: 'window scale',
  4: 'selective acknowledgements',
  5: 'acknowledged ranges',
  8: 'timestamps',
  19: 'MD5 signature',
  29: 'authentication',
};

const headerOf = (octet: number): number => Math.max(LEAST, (octet >>> 4) * 4);

export const TCP: Protocol = {
  name: 'TCP',
  title: 'Transmission control',
  classify(numbers) {
    if (!numbers.has(LEAST)) return;
    const source = numbers.pair(0);
    const destination = numbers.pair(2);
    numbers.sourcePort = source;
    numbers.destinationPort = destination;
    numbers.tcpFlags = numbers.octet(13);
    const low = Math.min(source, destination);
    const high = Math.max(source, destination);
    numbers.go(headerOf(numbers.octet(12)), keyOf(SPACE.tcp, low), keyOf(SPACE.tcp, high));
  },
  describe(d) {
    const { at } = d;
    const source = d.number('tcp.srcport', 'Source port', at, 2);
    const destination = d.number('tcp.dstport', 'Destination port', at + 2, 2);
    const sequence = d.number('tcp.seq_raw', 'Sequence number', at + 4, 4);
    const acknowledged = d.number('tcp.ack_raw', 'Acknowledged', at + 8, 4);
    const header = headerOf(d.octet(at + 12));
    d.note('tcp.hdr_len', 'Header length', at + 12, 1, (d.octet(at + 12) >>> 4) * 4);
    const flags = d.bits('tcp.flags', 'Flags', at + 12, 2, 0x0fff, (value) => flagsText(value & 0xff)) & 0xff;
    const room = d.number('tcp.window_size_value', 'Window', at + 14, 2);
    d.number('tcp.checksum', 'Checksum', at + 16, 2);
    d.number('tcp.urgent_pointer', 'Urgent pointer', at + 18, 2);
    if (header > LEAST) options(d, at + LEAST, Math.min(at + header, d.end));
    const length = Math.max(0, d.end - at - header);
    const ack = (flags & TCP_FLAGS.ack) === 0 ? '' : `, ack ${acknowledged}`;
    d.say(
      `${source} to ${destination} [${flagsText(flags)}] seq ${sequence}${ack}, window ${room}, ${length} octets`,
    );
    const low = Math.min(source, destination);
    const high = Math.max(source, destination);
    const isWhole = d.has(at, LEAST);
    d.go(at + header, isWhole ? keyOf(SPACE.tcp, low) : NOTHING, isWhole ? keyOf(SPACE.tcp, high) : NOTHING);
  },
};

function flagsText(flags: number): string {
  const names = Object.entries(TCP_FLAGS).filter(([, bit]) => (flags & bit) !== 0);
  return names.length === 0 ? 'none' : names.map(([name]) => name.toUpperCase().slice(0, 3)).join(' ');
}

function options(d: Description, from: number, end: number): void {
  let at = from;
  while (at < end) {
    const kind = d.number('tcp.option_kind', 'Option', at, 1, KINDS);
    if (kind === KIND.end) break;
    if (kind === KIND.nothing) {
      at++;
      continue;
    }
    const length = at + 1 < end ? d.octet(at + 1) : 0;
    if (length < 2 || at + length > end) break;
    if (kind === KIND.segment && length === 4) d.number('tcp.options.mss_val', 'Largest segment', at + 2, 2);
    if (kind === KIND.scale && length === 3) d.number('tcp.options.wscale.shift', 'Window shift', at + 2, 1);
    if (kind === KIND.times && length === 10) {
      d.number('tcp.options.timestamp.tsval', 'Timestamp', at + 2, 4);
      d.number('tcp.options.timestamp.tsecr', 'Timestamp echoed', at + 6, 4);
    }
    at += length;
  }
}
