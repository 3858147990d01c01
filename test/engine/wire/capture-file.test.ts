/** Capture files of every kind, whole, cut and damaged. */
import t from 'tap';
import { countPackets, readCaptureHead, type FileOctets } from '../../../src/engine/wire/capture-file.js';
import { LINK_TYPE, pcapHeader } from '../../../src/engine/wire/pcap.js';
import {
  interfaceBlock,
  packetBlockLength,
  sectionHeader,
  statisticsBlock,
  writePacketBlock,
} from '../../../src/engine/wire/pcapng.js';
import { block, pcapFile, words } from '../../support/capture-samples.js';
import { seededRandom } from '../../support/seeded-random.js';

const START = Date.UTC(2026, 10, 21);
const PACKETS = [
  { ms: START, length: 60 },
  { ms: START + 1500, length: 0 },
  { ms: START + 90_250, length: 1501 },
];
/** Each packet was ten octets longer before it was cut. */
const SPAN = { packets: 3, octets: 1591, firstAt: START, lastAt: START + 90_250 };
const NONE = { packets: 0, octets: 0, firstAt: null, lastAt: null };

function octets(bytes: Uint8Array): FileOctets {
  return {
    size: bytes.length,
    at: (position, length) => {
      if (position + length > bytes.length) throw new Error('beyond the end');
      return new DataView(bytes.buffer, bytes.byteOffset + position, length);
    },
  };
}

void t.test('classic files in both byte orders and both units', (t) => {
  for (const isLittle of [true, false]) {
    for (const isNano of [true, false]) {
      const file = octets(pcapFile(PACKETS, { isLittle, isNano, linkType: 123 }));
      t.same(readCaptureHead(file), { format: 'pcap', linkType: 123 });
      t.same(countPackets(file), { ...SPAN, end: file.size });
    }
  }
  t.same(countPackets(octets(pcapHeader(LINK_TYPE.EN10MB, 100))), { ...NONE, end: 24 });
  t.end();
});

void t.test('wherever a file is cut, its whole packets count', (t) => {
  const whole = pcapFile(PACKETS);
  const ends = [24 + 76, 24 + 76 + 16, whole.length];
  for (let length = 0; length <= whole.length; length++) {
    const { packets, end } = countPackets(octets(whole.subarray(0, length)));
    const reached = ends.filter((place) => length >= place);
    if (packets !== reached.length) t.fail(`${length} octets: ${packets}`);
    if (end !== (reached.at(-1) ?? Math.min(length, 24))) t.fail(`${length} octets: the last ends at ${end}`);
  }
  t.pass();
  t.end();
});

function ourPcapng(times: readonly bigint[]): Uint8Array {
  const described = { snaplen: 100, description: undefined, filter: undefined };
  const parts = [
    sectionHeader({ application: 'Wirefarm' }),
    interfaceBlock({ ...described, linkType: LINK_TYPE.FRELAY, name: 'first' }),
  ];
  times.forEach((time, index) => {
    const bytes = new Uint8Array(packetBlockLength(index * 7, 0));
    const [high, low] = [Number(time >> 32n), Number(time & 0xffff_ffffn)];
    writePacketBlock(new DataView(bytes.buffer), 0, index % 2, high, low, index * 7, index * 7, 0, 0);
    parts.push(bytes);
    if (index === 0) parts.push(interfaceBlock({ ...described, linkType: LINK_TYPE.EN10MB, name: 'second' }));
  });
  parts.push(statisticsBlock({ interfaceId: 0, received: 1, dropped: 0, at: { high: 0, low: 0 } }));
  return Buffer.concat(parts);
}

void t.test('pcapng files as we write them, with a second interface that joins later', (t) => {
  const times = PACKETS.map(({ ms }) => BigInt(ms) * 1_000_000n);
  const file = octets(ourPcapng(times));
  t.same(readCaptureHead(file), { format: 'pcapng', linkType: 107 });
  t.same(countPackets(file), { ...SPAN, octets: 21, end: file.size });
  t.end();
});

void t.test('pcapng files of others: byte orders, resolutions, offsets, old and simple blocks', (t) => {
  for (const isLittle of [true, false]) {
    const half = (a: number, b: number): number => (isLittle ? a | (b << 16) : (a << 16) | b);
    const section = block(
      0x0a0d_0d0a,
      words([0x1a2b_3c4d, half(1, 0), 0xffff_ffff, 0xffff_ffff], isLittle),
      isLittle,
    );
    const plain = block(1, words([half(1, 0), 0], isLittle), isLittle);
    // Units of 1/1024 s, counted from 1000 s after 1970.
    const resolution = Buffer.concat([words([half(9, 1)], isLittle), Buffer.from([0x8a, 0, 0, 0])]);
    const offset = Buffer.concat([
      words([half(14, 8)], isLittle),
      words(isLittle ? [1000, 0] : [0, 1000], isLittle),
    ]);
    const odd = block(1, Buffer.concat([words([half(1, 0), 0], isLittle), resolution, offset]), isLittle);
    const micros = BigInt(START) * 1000n;
    const time = [Number(micros >> 32n), Number(micros & 0xffff_ffffn)];
    const packet = block(6, words([0, ...time, 0, 0], isLittle), isLittle);
    const old = block(2, words([half(1, 0), 0, 2048, 0, 0], isLittle), isLittle);
    const simple = block(3, words([4, 0], isLittle), isLittle);
    const unknown = block(0x0bad, Buffer.alloc(100), isLittle);
    const file = octets(Buffer.concat([section, plain, odd, packet, unknown, simple, old]));
    t.same(readCaptureHead(file), { format: 'pcapng', linkType: 1 });
    const span = { packets: 3, octets: 4, firstAt: START, lastAt: 1_002_000, end: file.size };
    t.same(countPackets(file), span);
    const two = Buffer.concat([section, plain, packet, section, packet]);
    t.same(countPackets(octets(two)).packets, 2, 'a new section forgets the interfaces');
  }
  t.end();
});

void t.test('a file that is not a capture has an unknown format', (t) => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.alloc(3),
    Buffer.alloc(100),
    Buffer.from('{"no": "capture", "at": "all"}'),
  ]) {
    t.same(readCaptureHead(octets(bytes)), { format: 'unknown', linkType: null });
    t.match(countPackets(octets(bytes)), NONE);
  }
  const section = sectionHeader({ application: 'Wirefarm' });
  t.same(readCaptureHead(octets(section)), { format: 'pcapng', linkType: null });
  t.end();
});

void t.test('damage anywhere ends the reading, and nothing worse', (t) => {
  const random = seededRandom(4);
  const samples = [pcapFile(PACKETS), ourPcapng([1n, 2n, 3n, 4n])];
  for (let round = 0; round < 20_000; round++) {
    const sample = samples[round % samples.length] ?? Buffer.alloc(0);
    const bytes = Uint8Array.from(sample).subarray(0, Math.ceil(random() * sample.length));
    for (let flips = 0; flips < 3; flips++)
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    readCaptureHead(octets(bytes));
    if (countPackets(octets(bytes)).packets > 10) t.fail('more packets than there is room for');
  }
  t.pass();
  t.end();
});
