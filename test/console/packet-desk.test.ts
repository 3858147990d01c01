/** The packet worker by its messages, without a browser: packets kept and gone, filters, files, any octets. */
import t from 'tap';
import { PcapngStream } from '../../src/dissection/pcapng-stream.js';
import { interfaceBlock, sectionHeader, statisticsBlock } from '../../src/engine/wire/pcapng.js';
import { LINK_TYPE } from '../../src/engine/wire/pcap.js';
import { block, words } from '../support/capture-samples.js';
import { PacketDeskRig } from './packet-desk-rig.js';
import { Random, testSeed } from '../support/random.js';
import { SAMPLE_FRAMES } from '../support/sample-frames.js';

const LINK = '6b4a1a4e-7d0c-4d6b-8f43-0f3f4a1a2b3c';
const LINKS = [{ id: LINK, name: 'SW1–R1' }];
const TYPES = Object.values(LINK_TYPE);
const SIZES = { octets: 1 << 20, packets: 1024 };

/** The beginning of a stream that has an interface of the link for each link type. */
const opening = (): Buffer =>
  Buffer.concat([
    sectionHeader({ application: 'test' }),
    ...TYPES.map((linkType) =>
      interfaceBlock({
        ...{ linkType, snaplen: 65_535, name: 'lab SW1 port 0', filter: undefined },
        description: `link ${LINK} to R1 port 0`,
      }),
    ),
  ]);

/** A block that came in when the number is even; a microsecond lies between two. */
function packet(number: number, octets: Uint8Array, linkType: number = LINK_TYPE.EN10MB): Buffer {
  const head = words([TYPES.indexOf(linkType as 1), 7, number * 1000, octets.length, octets.length]);
  const padding = Buffer.alloc((4 - (octets.length % 4)) % 4);
  const flags = words([(4 << 16) | 2, 1 + (number % 2), 0]);
  return block(6, Buffer.concat([head, octets, padding, flags]));
}

const samples = (): Buffer =>
  Buffer.concat(SAMPLE_FRAMES.map(({ octets, linkType }, index) => packet(index, octets, linkType)));

function sampleRig(): PacketDeskRig {
  const rig = new PacketDeskRig(SIZES);
  rig.open(LINKS);
  rig.receive(opening());
  rig.receive(samples());
  return rig;
}

/** The frame of a number: an Ethernet frame of any length, which says its number. */
function numbered(number: number): Buffer {
  const frame = Buffer.alloc(20 + (number % 90), number & 0xff);
  frame.writeUInt16BE(0x88b5, 12);
  frame.writeUInt32BE(number, 14);
  return frame;
}

void t.test('a state brings the rows that the page looks at', (t) => {
  const rig = new PacketDeskRig(SIZES);
  rig.open(LINKS);
  const shown = (): number[] => rig.settle().rows.map(({ number }) => number);
  rig.desk.take({ do: 'look', from: undefined, count: 2 });
  t.same(shown(), []);
  rig.receive(Buffer.concat([opening(), samples()]));
  const last = SAMPLE_FRAMES.length;
  t.same(shown(), [last - 1, last], 'the last ones');
  rig.desk.take({ do: 'look', from: 2, count: 3 });
  t.same(shown(), [2, 3, 4], 'at once');
  rig.receive(samples());
  t.same(shown(), [2, 3, 4], 'and they stay while others come');
  rig.desk.take({ do: 'look', from: 2 * last + 5, count: 3 });
  t.same(shown(), [2 * last - 2, 2 * last - 1, 2 * last], 'never beyond the end');
  rig.desk.take({ do: 'look', from: -3, count: 100_000 });
  t.equal(shown()[0], 1);
  t.ok(shown().length <= 200);
  t.end();
});

void t.test('packets are rows and details, whatever pieces they come in', (t) => {
  const rig = new PacketDeskRig(SIZES);
  rig.open(LINKS);
  const stream = Buffer.concat([opening(), samples()]);
  for (let at = 0; at < stream.length; at += 100) rig.receive(stream.subarray(at, at + 100));
  const count = SAMPLE_FRAMES.length;
  t.match(rig.settle(), { stream: 'live', received: count, held: count, first: 1, end: count + 1, lost: 0 });
  t.match(rig.ask('rows', { do: 'rows', from: 1, count: 2 }).rows, [
    {
      ...{ place: 1, number: 1, time: '0.000000', link: 'SW1–R1', way: 'in' },
      ...{ source: '10.0.0.1', destination: '10.0.0.2', protocol: 'ICMP', length: 45 },
    },
    { number: 2, time: '0.000001', way: 'out', protocol: 'ICMP' },
  ]);
  t.equal(rig.ask('rows', { do: 'rows', from: -5, count: 1000 }).rows.length, count);
  const { details } = rig.ask('details', { do: 'details', number: 1 });
  t.same(
    details?.layers.map(({ protocol }) => protocol),
    ['Ethernet', 'IPv4', 'ICMP', 'Data'],
  );
  t.same(Buffer.from(details?.octets ?? []), SAMPLE_FRAMES[0]?.octets);
  t.equal(rig.ask('details', { do: 'details', number: count + 1 }).details, undefined);
  t.end();
});

const FILTERS: readonly (readonly [filter: string, shown: readonly string[]])[] = [
  ['arp', ['ARP']],
  ['proto == igmp', ['IGMP 2', 'IGMP 3']],
  ['proto == "Frame Relay" && !icmp', ['LMI of ANSI', 'LMI of Q.933', 'LMI of Cisco']],
  ['ip.addr == 10.0.0.1 && tcp.flags.syn', []],
  ['tcp.flags.syn', ['IPv6 TCP']],
  ['tcp.flags == 0x18 and tcp.port == 8081', ['TCP data']],
  ['ip.src == fe80::/10 and udp', ['IPv6 extensions']],
  ['ip.dst == 10.0.0.0/8 && arp', ['ARP']],
  ['ip.src == 10.0.0.2', []],
  ['eth.addr == 01:80:c2:00:00:02', ['LACP']],
  ['eth.src == 02:00:00:00:00:02', []],
  ['udp.port == 53 && !(len > 80)', ['DNS question']],
  ['vlan == 100', ['802.1ad']],
  ['vlan', ['802.1Q', '802.1ad']],
  ['vpi == 5 && vci == 500 && (proto == aal5 or oam)', ['AAL5', 'ATM cell with OAM']],
  ['dlci == 1023', ['LMI of Cisco']],
  ['dlci >= 1 && dlci < 1023', ['Frame Relay', 'Frame Relay of Cisco']],
  ['text ~ "EXAMPLE.ORG"', ['DNS question', 'DNS answer']],
  ['text ~ "Cisco discovery"', ['CDP', 'CDP on HDLC']],
  ['ospf.msg == 1', ['OSPF hello']],
  ['dns.qry.name == www.example.org && dns.flags.response == 0', ['DNS question']],
  ['bgp && bgp.type != 1', ['BGP update', 'BGP notification']],
  ['link == "sw1–r1" && link ~ R1 && lacp', ['LACP']],
  ['link == nothing', []],
  ['lldp || cdp && dir == in || lldp', ['LLDP', 'CDP on HDLC', 'CDP']],
];

void t.test('a display filter shows what it says', (t) => {
  const rig = sampleRig();
  const [inward, outward] = ['in', 'out'].map((way) => {
    rig.filter(`dir == ${way}`);
    return rig.settle().end;
  });
  t.equal((inward ?? 0) + (outward ?? 0), SAMPLE_FRAMES.length);
  for (const [filter, shown] of FILTERS) {
    t.equal(rig.filter(filter).wrong, undefined, filter);
    const { first, end, progress } = rig.settle();
    t.equal(progress, 1);
    const { rows } = rig.ask('rows', { do: 'rows', from: first, count: end - first });
    const names = rows.map(({ number }) => SAMPLE_FRAMES[number - 1]?.name ?? '');
    if (filter.includes('dir == in')) t.ok(names.includes('LLDP') && names.length < 4, filter);
    else t.same(names, shown, filter);
  }
  rig.filter(' ');
  t.match(rig.settle(), { first: 1, end: SAMPLE_FRAMES.length + 1 }, 'an empty one shows all');
  t.end();
});

void t.test('a wrong filter says where it is wrong, and the last right one stays', (t) => {
  const rig = sampleRig();
  rig.filter('arp');
  for (const [text, at] of [
    ['arp &&', 6],
    ['arp icmp', 4],
    ['(arp', 4],
    ['arp)', 3],
    ['nothing', 0],
    ['tcp.port == http', 12],
    ['tcp.port ~ 5', 9],
    ['ip.addr == 10.0.0.300', 11],
    ['ip.addr == 10.0.0.0/33', 11],
    ['ip.addr == 1::2::3', 11],
    ['ip.addr < 10.0.0.1', 8],
    ['eth.addr == 10.0.0.1', 12],
    ['proto == nothing', 9],
    ['dir == up', 7],
    ['len == ', 7],
    ['text == "a"', 5],
    ['text ~ "a', 7],
    ['§', 0],
    ['=='.repeat(2), 0],
    ['!'.repeat(100) + 'arp', 51],
    ['('.repeat(1000), 51],
    ['a'.repeat(3000), 2000],
  ] as const) {
    const { wrong } = rig.filter(text);
    t.equal(wrong?.at, at, text.slice(0, 30));
    t.ok((wrong?.message.length ?? 0) > 5, 'with words');
  }
  t.equal(rig.settle().end, 1, 'ARP is still what is shown');
  t.end();
});

void t.test('the oldest packets leave the ring, and what is held is right', (t) => {
  const rig = new PacketDeskRig({ octets: 4096, packets: 32 });
  rig.open(LINKS);
  rig.receive(opening());
  rig.filter('text ~ 0x88b5 && eth.dst != 01:01:01:01:01:01');
  let most = 0;
  for (let number = 1; number <= 1000; number++) {
    rig.receive(packet(number, numbered(number)));
    if (number % 37 > 0) continue;
    const { received, held, heldOctets, first, end } = rig.settle();
    most = Math.max(most, held);
    t.equal(received, number);
    const { rows } = rig.ask('rows', { do: 'rows', from: first, count: end - first });
    const numbers = rows.map((row) => row.number);
    t.equal(numbers.at(-1), number);
    t.ok(held > 10 && heldOctets <= 4096 && numbers.length <= held && numbers.length >= held - 1, `${held}`);
    for (const one of numbers) {
      const { details } = rig.ask('details', { do: 'details', number: one });
      if (!numbered(one).equals(details?.octets ?? Buffer.alloc(0))) t.fail(`packet ${one}`);
    }
    t.equal(rig.ask('details', { do: 'details', number: number - held }).details, undefined);
  }
  t.equal(most, 32, 'no more than there are rows');
  rig.receive(packet(1, Buffer.alloc(5000)));
  t.equal(rig.settle().lost, 1, 'a packet larger than the ring');
  t.end();
});

async function packetsIn(file: Blob): Promise<string[]> {
  const found: string[] = [];
  const types: number[] = [];
  const stream = new PcapngStream({
    onInterface: ({ linkType }) => types.push(linkType),
    onPacket: ({ octets, at, end, interfaceId }) => {
      found.push(`${types[interfaceId] ?? ''} ${Buffer.from(octets.subarray(at, end)).toString('hex')}`);
    },
    onLost: () => undefined,
  });
  stream.take(new Uint8Array(await file.arrayBuffer()));
  return found;
}

void t.test('held packets are saved as pcapng, also after a new connection', async (t) => {
  const rig = sampleRig();
  const all = SAMPLE_FRAMES.map(({ linkType, octets }) => `${linkType} ${octets.toString('hex')}`);
  rig.breakOff();
  rig.settle();
  t.same(rig.opened, ['ws://server/pcap', 'ws://server/pcap'], 'it connects again');
  rig.receive(opening());
  rig.receive(samples());
  const { packets, file } = rig.ask('saved', { do: 'save', isFiltered: false });
  t.equal(packets, 2 * all.length);
  t.same(await packetsIn(file), [...all, ...all]);
  rig.filter('ospf');
  rig.settle();
  const some = await packetsIn(rig.ask('saved', { do: 'save', isFiltered: true }).file);
  t.equal(some.length, 8);
  t.ok(some.every((one) => all.includes(one)));
});

void t.test('a stream that breaks off is opened again, after longer pauses until packets come', (t) => {
  const rig = new PacketDeskRig(SIZES);
  rig.open(LINKS);
  for (let round = 0; round < 7; round++) {
    rig.breakOff();
    rig.settle();
  }
  t.same(rig.rests, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  t.equal(rig.opened.length, 8);
  rig.receive(opening());
  rig.breakOff();
  rig.settle();
  t.equal(rig.rests.at(-1), 1000);
  t.end();
});

void t.test('losses are told, and what is no stream is closed', (t) => {
  const rig = sampleRig();
  rig.receive(statisticsBlock({ interfaceId: 0, received: 10, dropped: 7, at: { high: 0, low: 0 } }));
  t.equal(rig.settle().lost, 7);
  rig.receive(Buffer.alloc(64, 1));
  t.equal(rig.closed, 1);
  rig.desk.take({ do: 'close' });
  t.match(rig.settle(), { stream: 'closed', received: SAMPLE_FRAMES.length }, 'what is held stays');
  rig.open();
  t.match(rig.settle(), { stream: 'live', received: 0, held: 0, lost: 0 }, 'a new stream begins anew');
  t.end();
});

void t.test('any octets and any filter are taken', (t) => {
  const random = new Random(testSeed(2026));
  const rig = new PacketDeskRig({ octets: 1 << 16, packets: 128 });
  const right = Buffer.concat([opening(), samples()]);
  const parts = [
    'arp',
    'ip.addr',
    '==',
    '!=',
    '10.0.0.1',
    '::',
    '&&',
    '||',
    '!',
    '(',
    ')',
    '"a',
    'a"',
    '0x',
    '~',
    ' ',
  ];
  for (let round = 0; round < 150; round++) {
    rig.open(LINKS);
    const stream = Buffer.from(right);
    for (let change = random.below(20); change >= 0; change--)
      stream[random.below(stream.length)] = random.below(256);
    rig.receive(stream.subarray(0, random.below(stream.length)));
    rig.receive(stream.subarray(random.below(stream.length)));
    const text = Array.from({ length: random.below(8) }, () => parts[random.below(parts.length)] ?? '').join(
      '',
    );
    rig.filter(text);
    const { first, end } = rig.settle();
    rig.ask('rows', { do: 'rows', from: first, count: end - first });
  }
  t.pass();
  t.end();
});
