/** Packets are taken apart as tshark does it, and whatever octets come, no reader fails or leaves its packet. */
import { equal, ok } from 'node:assert/strict';
import t from 'tap';
import { classify, describe } from '../../src/dissection/dissection.js';
import { PacketNumbers } from '../../src/dissection/packet-numbers.js';
import { PcapngStream } from '../../src/dissection/pcapng-stream.js';
import { PROTOCOLS } from '../../src/dissection/protocols.js';
import { SAMPLE_FRAMES } from '../support/sample-frames.js';
import { samplePcapng } from '../support/sample-pcapng.js';
import { checkMutatedFrames } from '../support/mutated-frames.js';
import { missingTshark, tsharkRows } from '../support/tshark.js';

/** One value as both write it: numbers in decimal, truth as 0 and 1. */
function plain(value: number | string): string {
  const text = String(value);
  if (/^0x[0-9a-f]+$/.test(text)) return String(Number(text));
  return /^-?\d+(\.\d+)?$/.test(text) ? String(Number(text)) : text;
}

/** The first values of some fields, by our description. */
function ours(octets: Uint8Array, linkType: number): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { id, value } of describe(octets, linkType).layers.flatMap(({ fields }) => fields))
    found.set(id, [...(found.get(id) ?? []), plain(value)]);
  return found;
}

void t.test('fields are those that tshark finds', { skip: missingTshark() }, (t) => {
  const names = [...new Set(SAMPLE_FRAMES.flatMap(({ fields }) => fields))];
  const rows = tsharkRows(samplePcapng(), ['_ws.malformed', ...names]);
  t.equal(rows.length, SAMPLE_FRAMES.length);
  for (const [index, { name, octets, linkType, fields }] of SAMPLE_FRAMES.entries()) {
    const [malformed, ...values] = rows[index] ?? [];
    t.equal(malformed, '', `${name} is right`);
    const found = ours(octets, linkType);
    for (const field of fields) {
      const theirs = (values[names.indexOf(field)] ?? '').split(',').map(plain);
      t.ok(theirs[0] !== '', `${name}: tshark has ${field}`);
      t.same(found.get(field)?.slice(0, theirs.length), theirs, `${name}: ${field}`);
    }
  }
  t.end();
});

void t.test('each field stands for octets of its layer, and each packet has its words', (t) => {
  const words: Record<string, string> = {};
  for (const { name, octets, linkType } of SAMPLE_FRAMES) {
    const { layers, protocol, info } = describe(octets, linkType);
    words[name] = `${protocol}: ${info}`;
    for (const { fields, at, length } of layers) {
      const wrong = fields.filter(
        (field) => field.id === 'cut' || field.at < at || field.at + field.length > octets.length,
      );
      t.same(wrong, [], `${name} is whole`);
      ok(at + length <= octets.length);
    }
  }
  t.match(words, {
    ICMP: 'ICMP: echo request 4660, number 7',
    'ICMP error': 'ICMP: destination unreachable: too large, must not be fragmented, MTU 1500',
    ARP: 'ARP: who has 10.0.0.2? 10.0.0.1 asks',
    'IPv6 TCP': 'TCP: 1025 to 8081 [SYN] seq 100, window 8192, 0 octets',
    LLDP: 'LLDP: SW1 port e0, for 120 s',
    'LMI of ANSI': 'LMI: ANSI status, full status, sent 5, seen 4, 1 PVC',
    DHCP: 'DHCP: offer 10.0.0.100, transaction 0x3903f326',
    'DNS answer': 'DNS: answer 43981: A www.example.org, 10.9.8.7, 2001:db8::1, a.example.org',
    'BGP update': 'BGP: update +192.168.1.0/24 +10.0.0.9/32; keepalive',
    'OSPF hello': 'OSPF: hello of 1.1.1.1 in area 0.0.0.0, designated 10.0.0.1, sees 2.2.2.2',
  });
  t.end();
});

void t.test('numbers of a packet are those of its description', (t) => {
  const numbers = new PacketNumbers();
  for (const { name, octets, linkType } of SAMPLE_FRAMES) {
    // The packet lies in the middle of others.
    const among = Buffer.concat([Buffer.alloc(7, 0x45), octets, Buffer.alloc(9, 0x45)]);
    classify(numbers, among, 7, 7 + octets.length, linkType);
    const { protocol, layers } = describe(octets, linkType);
    t.equal(PROTOCOLS[numbers.protocol]?.name, protocol, name);
    const field = (id: string): number | undefined => {
      const found = layers.flatMap(({ fields }) => fields).find((one) => one.id === id);
      return typeof found?.value === 'number' ? found.value : undefined;
    };
    if (name.startsWith('ICMP error') || name.startsWith('ICMP redirect')) continue;
    t.equal(numbers.sourcePort, field('udp.srcport') ?? field('tcp.srcport') ?? 0xffff, `${name}: port`);
    t.equal(numbers.vlan, field('ieee8021ad.id') ?? field('vlan.id') ?? 0xffff, `${name}: VLAN`);
    t.equal(numbers.label & 0xffff, field('fr.dlci') ?? field('atm.vci') ?? 0, `${name}: label`);
  }
  t.end();
});

void t.test('any octets are read, to no further than their end', (t) => {
  equal(describe(new Uint8Array(0), 1).layers.length, 0);
  ok(describe(Buffer.from('01', 'hex'), 999).layers.length === 1, 'an unknown link type is data');
  t.equal(checkMutatedFrames(100_000), 100_000);
  t.end();
});

void t.test('a stream of pcapng is read in pieces of any size', (t) => {
  const file = samplePcapng();
  for (const size of [1, 7, 64, 1000, file.length]) {
    const found: string[] = [];
    const types: number[] = [];
    const stream = new PcapngStream({
      onInterface: ({ linkType }) => types.push(linkType),
      onPacket: ({ octets, at, end, interfaceId }) => {
        found.push(`${types[interfaceId] ?? ''} ${Buffer.from(octets.subarray(at, end)).toString('hex')}`);
      },
      onLost: () => t.fail('nothing is lost'),
    });
    for (let at = 0; at < file.length; at += size) stream.take(file.subarray(at, at + size));
    t.same(
      found,
      SAMPLE_FRAMES.map(({ linkType, octets }) => `${linkType} ${octets.toString('hex')}`),
    );
    t.notOk(stream.isBroken);
    stream.take(Buffer.alloc(12));
    t.ok(stream.isBroken, 'a block without a length');
  }
  t.end();
});
