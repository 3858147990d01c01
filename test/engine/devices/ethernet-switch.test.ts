import t from 'tap';
import { DROP_CAUSES, type CounterName } from '../../../src/base/memory/port-counters.js';
import {
  EthernetSwitch,
  type EthernetPort,
  type EthernetSwitchSettings,
} from '../../../src/engine/devices/ethernet-switch.js';
import { VLAN_ETHERTYPES } from '../../../src/engine/wire/ethernet.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';
import { DeviceRig, type Sent } from '../../support/device-rig.js';

type Rig = DeviceRig<EthernetSwitchSettings>;

const EVERYBODY = 'ffffffffffff';
const A = '02000000000a';
const B = '02000000000b';
const C = '02000000000c';
/** An ethertype and a payload. */
const DATA = '0800c0ffee';

const access = (port: number, vlan: number): EthernetPort => ({
  port,
  type: 'access',
  vlan,
  ethertype: 0x8100,
});
const trunk = (port: number, vlan: number): EthernetPort => ({
  port,
  type: 'dot1q',
  vlan,
  ethertype: 0x8100,
});
const tunnel = (port: number, vlan: number, ethertype = 0x8100): EthernetPort => ({
  port,
  type: 'qinq',
  vlan,
  ethertype,
});

function switchWith(ports: readonly EthernetPort[], workspace?: number): Rig {
  const rig = new DeviceRig((fabric) => new EthernetSwitch(fabric), workspace);
  rig.device.configure({ ports });
  rig.attach(...ports.map(({ port }) => port));
  return rig;
}

const bytesOf = (...parts: readonly string[]): Buffer => Buffer.from(parts.join(''), 'hex');

function shown(sent: readonly Sent[]): string[] {
  return sent.map(({ port, bytes }) => `${port} ${bytes.toString('hex')}`).sort();
}

/** Sends one frame to everybody from B, and shows at which ports it left, and how it looked after the addresses. */
function flooded(rig: Rig, port: number, rest: string): string[] {
  const sent = rig.receive(port, [bytesOf(EVERYBODY, B, rest)]);
  return shown(sent).map((line) => line.replace(EVERYBODY + B, ''));
}

/** The ports at which a frame from one station to another leaves. */
function way(rig: Rig, port: number, to: string, from: string, rest = DATA): number[] {
  return rig
    .receive(port, [bytesOf(to, from, rest)])
    .map((one) => one.port)
    .sort((a, b) => a - b);
}

function macTable(rig: Rig): unknown {
  return (rig.device.inspect() as { readonly mac_table: unknown }).mac_table;
}

/** The MAC table, without ages. */
function known(rig: Rig): string[] {
  const list = macTable(rig) as readonly { mac: string; vlan: number; port: number }[];
  return list.map(({ mac, vlan, port }) => `${vlan} ${mac.slice(-2)} ${port}`);
}

void t.test('a frame leaves every kind of port in the form of that port', (t) => {
  // Ports 2 to 8 are one of each kind; the frame comes in at port 1, and both kinds of trunks take it.
  const others = [
    access(2, 10),
    access(3, 20),
    trunk(4, 10),
    trunk(5, 20),
    tunnel(6, 10, 0x88a8),
    tunnel(7, 20),
    trunk(8, 1),
  ];
  const tag = (control: string, ethertype = '8100'): string => ethertype + control;
  const cases: [sentence: string, from: EthernetPort, rest: string, to: Record<number, string>][] = [
    [
      'untagged at an access port',
      access(1, 10),
      DATA,
      { 2: DATA, 4: DATA, 5: tag('000a') + DATA, 8: tag('000a') + DATA },
    ],
    [
      'tagged at an access port: the tag is carried',
      access(1, 10),
      tag('a014') + DATA,
      {
        2: tag('a014') + DATA,
        4: tag('a014') + DATA,
        5: tag('a00a') + tag('a014') + DATA,
        8: tag('a00a') + tag('a014') + DATA,
      },
    ],
    [
      'with a priority tag at an access port: it is carried as well',
      access(1, 10),
      tag('e000') + DATA,
      {
        2: tag('e000') + DATA,
        4: tag('e000') + DATA,
        5: tag('e00a') + tag('e000') + DATA,
        8: tag('e00a') + tag('e000') + DATA,
      },
    ],
    [
      'with a cut tag at an access port: it is not read',
      access(1, 10),
      tag('e0'),
      { 2: tag('e0'), 4: tag('e0'), 5: tag('000a') + tag('e0'), 8: tag('000a') + tag('e0') },
    ],
    [
      'untagged at a trunk: as at an access port of the native VLAN',
      trunk(1, 20),
      DATA,
      { 3: DATA, 4: tag('0014') + DATA, 5: DATA, 8: tag('0014') + DATA },
    ],
    [
      'with a priority tag at a trunk: the native VLAN, and the priority is kept where a tag is',
      trunk(1, 10),
      tag('f000') + DATA,
      { 2: DATA, 4: DATA, 5: tag('f00a') + DATA, 8: tag('f00a') + DATA },
    ],
    [
      'with another ethertype, that one is kept',
      trunk(1, 10),
      tag('3000', '9100') + DATA,
      { 2: DATA, 4: DATA, 5: tag('300a', '9100') + DATA, 8: tag('300a', '9100') + DATA },
    ],
    [
      'tagged at a trunk: from trunk to trunk as it is',
      trunk(1, 10),
      tag('b014') + DATA,
      { 3: DATA, 4: tag('b014') + DATA, 5: DATA, 7: DATA, 8: tag('b014') + DATA },
    ],
    ...VLAN_ETHERTYPES.map((ethertype): [string, EthernetPort, string, Record<number, string>] => {
      const own = tag('700a', ethertype.toString(16));
      const sentence = `tagged ${own} at a trunk`;
      return [
        sentence,
        trunk(1, 20),
        own + DATA,
        { 2: DATA, 4: DATA, 5: own + DATA, 6: DATA, 8: own + DATA },
      ];
    }),
    [
      'tagged twice at a trunk: the outer tag counts, and the inner stays',
      trunk(1, 10),
      tag('0014', '88a8') + tag('4005') + DATA,
      {
        3: tag('4005') + DATA,
        4: tag('0014', '88a8') + tag('4005') + DATA,
        5: tag('4005') + DATA,
        7: tag('4005') + DATA,
        8: tag('0014', '88a8') + tag('4005') + DATA,
      },
    ],
    [
      'tagged in a VLAN that only trunks carry',
      trunk(1, 10),
      tag('0ffe') + DATA,
      { 4: tag('0ffe') + DATA, 5: tag('0ffe') + DATA, 8: tag('0ffe') + DATA },
    ],
    [
      'tagged by the customer at a qinq port: trunks get the outer tag, native VLAN or not',
      tunnel(1, 20, 0x9200),
      tag('d005') + DATA,
      {
        4: tag('d014', '9200') + tag('d005') + DATA,
        5: tag('d014', '9200') + tag('d005') + DATA,
        7: tag('d005') + DATA,
        8: tag('d014', '9200') + tag('d005') + DATA,
      },
    ],
    // A qinq port does not judge tags that it does not read: a tag of priority alone, and VLAN 4095.
    ...['e000', '0fff'].map((control): [string, EthernetPort, string, Record<number, string>] => {
      const own = tag(control, '9100') + DATA;
      const outer = tag(`${control.charAt(0)}014`) + own;
      return [
        `tagged ${control} at a qinq port`,
        tunnel(1, 20),
        own,
        { 4: outer, 5: outer, 7: own, 8: outer },
      ];
    }),
  ];
  for (const [sentence, from, rest, to] of cases) {
    const rig = switchWith([from, ...others]);
    const wanted = Object.entries(to).map(([port, form]) => `${port} ${form}`);
    t.same(flooded(rig, 1, rest), wanted, sentence);
    t.equal(rig.unaccounted, 0);
    // A port alone gets the same form as among others.
    for (const [port, form] of Object.entries(to)) {
      const lone = switchWith([from, ...others.filter((other) => other.port === Number(port))]);
      t.same(flooded(lone, 1, rest), [`${port} ${form}`], `${sentence}, to port ${port} alone`);
      t.equal(lone.unaccounted, 0);
    }
  }
  t.end();
});

void t.test('frames that a port cannot take are dropped by their cause', (t) => {
  const cases: [sentence: string, port: EthernetPort, frame: Buffer, cause: CounterName][] = [
    ['no ethertype', access(1, 1), bytesOf(EVERYBODY, B, '08'), 'malformed'],
    ['one octet', trunk(1, 1), Buffer.of(1), 'malformed'],
    ['one octet at a qinq port', tunnel(1, 1), Buffer.of(1), 'malformed'],
    ['a tag without control', trunk(1, 1), bytesOf(EVERYBODY, B, '8100'), 'malformed'],
    ['a tag of one octet', trunk(1, 1), bytesOf(EVERYBODY, B, '810000'), 'malformed'],
    ['a tag and no ethertype', trunk(1, 1), bytesOf(EVERYBODY, B, '8100000a08'), 'malformed'],
    ['a cut tag at a qinq port', tunnel(1, 1), bytesOf(EVERYBODY, B, '88a8000a08'), 'malformed'],
    ['VLAN 4095', trunk(1, 1), bytesOf(EVERYBODY, B, '81000fff', DATA), 'malformed'],
    ['VLAN 4095 with a priority', trunk(1, 1), bytesOf(EVERYBODY, B, '8100ffff', DATA), 'malformed'],
    ['no tag at a qinq port', tunnel(1, 1), bytesOf(EVERYBODY, B, DATA), 'vlan_mismatch'],
  ];
  for (const [sentence, port, frame, cause] of cases) {
    const rig = switchWith([port, access(2, 1), trunk(3, 1), tunnel(4, 1)]);
    t.same(rig.receive(1, [frame]), [], sentence);
    t.same(rig.counters(1), { frames_in: 1, octets_in: frame.length, [cause]: 1 }, sentence);
    t.same(known(rig), [], 'nothing is learnt from it');
    t.equal(rig.unaccounted, 0);
  }
  t.end();
});

void t.test('the shortest frames there are pass', (t) => {
  const rig = switchWith([trunk(1, 1), access(2, 1), access(3, 5)]);
  t.same(flooded(rig, 1, '0800'), ['2 0800']);
  t.same(flooded(rig, 1, '810000050800'), ['3 0800']);
  t.same(flooded(rig, 3, '8100'), ['1 810000058100']);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('access and qinq ports of one VLAN do not reach each other', (t) => {
  const rig = switchWith([access(1, 7), tunnel(2, 7), access(3, 7)]);
  t.same(flooded(rig, 1, DATA), [`3 ${DATA}`]);
  t.same(rig.counters(1), { frames_in: 1, octets_in: 17, copies: 1, vlan_mismatch: 1 });
  t.same(way(rig, 2, B, A, `81000005${DATA}`), [], 'a known station');
  t.same(rig.counters(2), { frames_in: 1, octets_in: 21, vlan_mismatch: 1 });
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('VLANs are separate, and where nobody else is a frame has no output', (t) => {
  const rig = switchWith([access(1, 1), access(2, 1), access(3, 2), tunnel(4, 3)]);
  t.same(flooded(rig, 1, DATA), [`2 ${DATA}`]);
  t.same(flooded(rig, 3, DATA), []);
  t.same(flooded(rig, 4, `81000001${DATA}`), []);
  t.equal(rig.counter(3, 'no_output'), 1);
  t.equal(rig.counter(4, 'no_output'), 1);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a port without settings is an access port of VLAN 1', (t) => {
  const rig = switchWith([access(1, 1), access(2, 2)]);
  rig.attach(50);
  t.same(flooded(rig, 1, DATA), [`50 ${DATA}`]);
  t.same(flooded(rig, 50, DATA), [`1 ${DATA}`]);
  t.end();
});

void t.test('jumbo frames pass in every form', (t) => {
  const payload = new RandomBytes(testSeed(1)).next(9216).toString('hex');
  const inner = '81006005';
  const rig = switchWith([tunnel(1, 20, 0x88a8), trunk(2, 1), tunnel(3, 20), access(4, 5), trunk(5, 1)]);
  const rest = `${inner}0800${payload}`;
  t.same(flooded(rig, 1, rest), [`2 88a86014${rest}`, `3 ${rest}`, `5 88a86014${rest}`]);
  t.same(flooded(rig, 2, rest), [`4 0800${payload}`, `5 ${rest}`]);
  t.same(flooded(rig, 4, `0800${payload}`), [`2 810000050800${payload}`, `5 810000050800${payload}`]);
  const largest = `88a80014810000050800${payload}`;
  t.same(flooded(rig, 5, largest), [`1 ${largest.slice(8)}`, `2 ${largest}`, `3 ${largest.slice(8)}`]);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a frame is sent to where its station was heard', (t) => {
  const rig = switchWith([access(1, 1), access(2, 1), access(3, 1), trunk(4, 1)]);
  t.same(way(rig, 1, B, A), [2, 3, 4], 'an unknown station is looked for everywhere');
  t.equal(rig.counter(1, 'copies'), 2);
  t.same(way(rig, 2, A, B), [1]);
  t.same(way(rig, 1, B, A), [2]);
  t.equal(rig.counter(1, 'copies'), 2);
  t.same(way(rig, 1, EVERYBODY, A), [2, 3, 4], 'broadcast goes to all');
  t.same(way(rig, 1, '0180c2000000', A), [2, 3, 4], 'and so does multicast');
  t.same(way(rig, 3, B, A), [2], 'the station moves');
  t.same(way(rig, 2, A, B), [3]);
  t.same(way(rig, 4, A, C, `81000002${DATA}`), [], 'in another VLAN it is unknown');
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a frame for a station at the port where it came in goes no further', (t) => {
  const rig = switchWith([access(1, 1), access(2, 1)]);
  way(rig, 1, EVERYBODY, A);
  t.same(way(rig, 1, A, B), []);
  t.same(way(rig, 1, A, A), []);
  t.equal(rig.counter(1, 'same_port'), 2);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a group address as the source is not learnt', (t) => {
  const rig = switchWith([access(1, 1), access(2, 1), access(3, 1)]);
  way(rig, 1, A, EVERYBODY);
  way(rig, 1, A, '0300000000aa');
  t.same(known(rig), []);
  t.same(way(rig, 2, '0300000000aa', A), [1, 3]);
  t.end();
});

void t.test('inspection shows who is where, for how long', (t) => {
  const rig = switchWith([access(1, 1), trunk(2, 1)]);
  way(rig, 1, EVERYBODY, A);
  rig.fabric.seconds += 20;
  way(rig, 2, EVERYBODY, 'aabbccddeeff', `8100e064${DATA}`);
  rig.fabric.seconds += 5;
  t.same(macTable(rig), [
    { mac: '02:00:00:00:00:0a', vlan: 1, port: 1, age_seconds: 25 },
    { mac: 'aa:bb:cc:dd:ee:ff', vlan: 100, port: 2, age_seconds: 5 },
  ]);
  t.end();
});

void t.test('a station that has been silent for long is looked for again', (t) => {
  const rig = switchWith([access(1, 1), access(2, 1), access(3, 1)]);
  way(rig, 1, EVERYBODY, A);
  rig.fabric.seconds += 300;
  t.same(way(rig, 2, A, B), [1]);
  rig.fabric.seconds += 1;
  t.same(way(rig, 2, A, B), [1, 3]);
  t.same(known(rig), ['1 0b 2']);
  t.end();
});

void t.test('a port that changes forgets its stations, and no other port does', (t) => {
  const rig = switchWith([access(1, 1), access(2, 1), trunk(3, 1), tunnel(4, 1)]);
  way(rig, 1, EVERYBODY, A);
  way(rig, 2, EVERYBODY, B);
  way(rig, 3, EVERYBODY, C, `81000005${DATA}`);
  way(rig, 4, EVERYBODY, '02000000000d', `81000005${DATA}`);
  const all = ['1 0a 1', '1 0b 2', '1 0d 4', '5 0c 3'];
  t.same(known(rig), all);
  const steps: [ports: EthernetPort[], known: string[]][] = [
    [[access(1, 1), access(2, 1), trunk(3, 1), tunnel(4, 1)], all],
    [[tunnel(4, 1), trunk(3, 1), access(1, 1)], all],
    [
      [access(1, 1), access(2, 2), trunk(3, 1), tunnel(4, 1)],
      ['1 0a 1', '1 0d 4', '5 0c 3'],
    ],
    [
      [access(1, 1), access(2, 1), trunk(3, 2), tunnel(4, 1)],
      ['1 0a 1', '1 0d 4'],
    ],
    [[access(1, 1), access(2, 1), trunk(3, 2), tunnel(4, 1, 0x88a8)], ['1 0a 1']],
    [[trunk(1, 1)], []],
  ];
  for (const [ports, wanted] of steps) {
    rig.device.configure({ ports });
    t.same(known(rig), wanted);
  }
  t.end();
});

void t.test('settings change what the next frame meets', (t) => {
  const rig = switchWith([access(1, 10), access(2, 10), trunk(3, 1)]);
  t.same(flooded(rig, 1, DATA), [`2 ${DATA}`, `3 8100000a${DATA}`]);
  rig.device.configure({ ports: [access(1, 10), access(2, 20), trunk(3, 10)] });
  t.same(flooded(rig, 1, DATA), [`3 ${DATA}`]);
  rig.device.configure({ ports: [tunnel(1, 10, 0x9100), tunnel(2, 10), trunk(3, 10)] });
  t.same(flooded(rig, 1, `81000005${DATA}`), [`2 81000005${DATA}`, `3 9100000a81000005${DATA}`]);
  rig.device.configure({ ports: [trunk(3, 1)] });
  t.same(
    flooded(rig, 3, DATA),
    [`1 ${DATA}`, `2 ${DATA}`],
    'without settings a port is what it was at first',
  );
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('settings may speak of a port before it is attached', (t) => {
  const rig = switchWith([access(1, 10)]);
  rig.device.configure({ ports: [access(1, 10), trunk(9, 10), access(8, 10)] });
  t.same(flooded(rig, 1, DATA), []);
  rig.attach(9);
  t.same(flooded(rig, 1, `81000005${DATA}`), [`9 81000005${DATA}`]);
  t.end();
});

void t.test('a detached port gets nothing and its stations are forgotten; others stay known', (t) => {
  const rig = switchWith([access(1, 1), access(2, 1), access(3, 1)]);
  way(rig, 1, EVERYBODY, A);
  way(rig, 2, EVERYBODY, B);
  rig.detach(2);
  t.same(known(rig), ['1 0a 1']);
  t.same(way(rig, 1, B, A), [3]);
  t.same(way(rig, 3, A, C), [1]);
  rig.attach(2);
  t.same(way(rig, 1, B, A), [2, 3], 'attached again, it is looked for there');
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('received bytes are never changed, and what is not changed is not copied', (t) => {
  const ports = [trunk(1, 1), trunk(2, 2), access(3, 10), access(4, 10)];
  const rig = switchWith(ports);
  const frame = bytesOf(EVERYBODY, B, '8100e00a', DATA);
  t.equal(rig.receive(1, [frame]).length, 3);
  const priority = bytesOf(EVERYBODY, B, '8100e000', DATA);
  t.equal(rig.receive(1, [frame, priority]).length, 4);
  const lain = Buffer.from(rig.fabric.memory.bytes.slice(0, frame.length + priority.length));
  t.same(lain, Buffer.concat([frame, priority]));

  const bare = switchWith(ports, 0);
  t.same(shown(bare.receive(1, [frame])), [`2 ${frame.toString('hex')}`], 'from trunk to trunk');
  t.equal(way(bare, 3, EVERYBODY, A).length, 1, 'from access to access');
  t.equal(bare.unaccounted, 0);
  t.end();
});

void t.test('each form is made once for all ports that want it', (t) => {
  const trunks = Array.from({ length: 20 }, (_, index) => trunk(10 + index, 1));
  const rig = switchWith([access(1, 10), ...trunks], 21);
  t.same(
    flooded(rig, 1, DATA),
    trunks.map(({ port }) => `${port} 8100000a${DATA}`),
  );
  const plain = switchWith([trunk(1, 1), access(2, 10), access(3, 10), tunnel(4, 10), trunk(5, 10)], 17);
  t.same(
    flooded(plain, 1, `8100e00a${DATA}`),
    [2, 3, 4, 5].map((port) => `${port} ${DATA}`),
  );
  // A priority tag for the native VLAN needs both forms.
  const both = switchWith([trunk(1, 10), access(2, 10), access(3, 10), trunk(4, 1), trunk(5, 2)], 17 + 21);
  t.equal(flooded(both, 1, `8100e000${DATA}`).length, 4);
  t.equal(both.counter(1, 'no_memory'), 0);
  t.end();
});

void t.test('without memory an output that needs a form is dropped, and the others are served', (t) => {
  const rig = switchWith([access(1, 10), access(2, 10), trunk(3, 1), trunk(4, 1), trunk(5, 10)], 20);
  t.same(flooded(rig, 1, DATA), [`2 ${DATA}`, `5 ${DATA}`]);
  t.same(rig.counters(1), { frames_in: 1, octets_in: 17, copies: 3, no_memory: 2 });
  way(rig, 3, EVERYBODY, A, `8100000a${DATA}`);
  t.same(way(rig, 1, A, B), [], 'a single output');
  t.equal(rig.counter(1, 'no_memory'), 3);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a flood of addresses keeps the table bounded and the switch at work', (t) => {
  const content = new RandomBytes(testSeed(2));
  const rig = switchWith([access(1, 1), access(2, 1), access(3, 1)]);
  for (let turn = 0; turn < 400; turn++) {
    const frames = Array.from({ length: 250 }, () => {
      const source = content.next(6);
      source[0] = (source[0] ?? 0) & 0xfe;
      return Buffer.concat([bytesOf(C), source, bytesOf(DATA)]);
    });
    if (rig.receive(1, frames).length < 250) t.fail('a frame was lost');
  }
  const { length } = macTable(rig) as readonly unknown[];
  t.ok(length <= 16_384 && length > 15_000, `${length} entries after 100,000 sources`);
  way(rig, 3, EVERYBODY, C);
  t.same(way(rig, 2, C, B), [3]);
  t.equal(rig.unaccounted, 0);
  t.end();
});

function randomPort(random: Random, port: number): EthernetPort {
  const vlan = random.pick([1, 2, 10, 20]);
  const ethertype = random.pick(VLAN_ETHERTYPES);
  return { port, type: random.pick(['access', 'dot1q', 'dot1q', 'qinq'] as const), vlan, ethertype };
}

const PORTS = [0, 1, 2, 3, 4, 5, 6];

/** Attaches or detaches a port, but never the last. */
function toggle(random: Random, rig: Rig, attached: Set<number>): number {
  const port = random.pick(PORTS);
  if (!attached.has(port)) {
    rig.attach(port);
    attached.add(port);
  } else if (attached.size > 1) {
    rig.detach(port);
    attached.delete(port);
  }
  return port;
}

void t.test('whatever comes in, nothing throws and every frame is accounted for', (t) => {
  const random = new Random(testSeed(3));
  const content = new RandomBytes(testSeed(3));
  const starts = [A, B, C, EVERYBODY].map((address) => bytesOf(address));
  const anyFrame = (): Buffer => {
    const length = random.chance(0.02) ? random.below(16_000) : random.below(40);
    if (random.chance(0.2)) return content.next(1 + length);
    const tags = Array.from({ length: random.below(4) }, () => {
      const tag = content.next(4);
      tag.writeUInt16BE(random.pick(VLAN_ETHERTYPES));
      if (random.chance(0.8)) tag.writeUInt16BE(random.pick([0, 1, 2, 10, 20, 4095]), 2);
      return tag;
    });
    const whole = [random.pick(starts), random.pick(starts), ...tags, bytesOf('0800'), content.next(length)];
    const frame = Buffer.concat(whole);
    return random.chance(0.2) ? frame.subarray(0, 1 + random.below(Math.min(frame.length, 20))) : frame;
  };
  // Too small for some turns.
  const rig = switchWith([], 8192);
  const attached = new Set(PORTS);
  rig.attach(...PORTS);
  let frames = 0;
  while (frames < 200_000) {
    if (random.chance(0.5)) rig.device.configure({ ports: PORTS.map((port) => randomPort(random, port)) });
    if (random.chance(0.2)) toggle(random, rig, attached);
    rig.fabric.seconds += random.below(100);
    const batch = Array.from({ length: 1 + random.below(256) }, anyFrame);
    rig.receive(random.pick([...attached]), batch);
    frames += batch.length;
    if (rig.unaccounted !== 0) t.fail(`${rig.unaccounted} frames are unaccounted for after ${frames}`);
  }
  const seen = DROP_CAUSES.filter((cause) => PORTS.some((port) => rig.counter(port, cause) > 0));
  t.same(seen, ['malformed', 'no_output', 'vlan_mismatch', 'same_port', 'no_memory']);
  t.end();
});

/** The switch in the simplest words, over strings of hexadecimal digits. */
class PaperSwitch {
  readonly ports = new Map<number, EthernetPort>();
  readonly attached = new Set<number>();
  readonly counted = new Map<string, number>();
  readonly stations = new Map<string, { readonly port: number; readonly seen: number }>();

  configure(ports: readonly EthernetPort[]): void {
    for (const port of PORTS) {
      const settings = ports.find((one) => one.port === port) ?? access(port, 1);
      if (JSON.stringify(settings) !== JSON.stringify(this.#settings(port))) this.forget(port);
      this.ports.set(port, settings);
    }
  }

  forget(port: number): void {
    for (const [key, station] of this.stations) if (station.port === port) this.stations.delete(key);
  }

  /** The frames that leave, as `port bytes`. */
  receive(port: number, frame: string, seconds: number): string[] {
    const { type, vlan: own, ethertype } = this.#settings(port);
    if (frame.length < 28) return this.#drop(port, 'malformed');
    const addresses = frame.slice(0, 24);
    const rest = frame.slice(24);
    const isTagged = ['8100', '88a8', '9100', '9200'].includes(rest.slice(0, 4));
    if (isTagged && rest.length < 12 && type !== 'access') return this.#drop(port, 'malformed');
    const priority = isTagged && rest.length >= 12 ? parseInt(rest.slice(4, 5), 16) : 0;
    const control = (vlan: number): string => (priority * 0x1000 + vlan).toString(16).padStart(4, '0');
    let vlan = own;
    let cameAs: string = type;
    let inside = rest;
    let outside = `8100${control(own)}${rest}`;
    if (type === 'qinq') {
      if (!isTagged) return this.#drop(port, 'vlan_mismatch');
      outside = `${ethertype.toString(16)}${control(own)}${rest}`;
    } else if (type === 'dot1q' && isTagged) {
      vlan = parseInt(rest.slice(5, 8), 16) || own;
      if (vlan === 4095) return this.#drop(port, 'malformed');
      inside = rest.slice(8);
      outside = rest.slice(0, 4) + control(vlan) + inside;
      if (rest.slice(5, 8) === '000') cameAs = 'access';
    } else if (type === 'dot1q') cameAs = 'access';
    const [to, from] = [frame.slice(0, 12), frame.slice(12, 24)];
    if (!isGroup(from)) this.stations.set(`${vlan} ${from}`, { port, seen: seconds });
    const station = this.stations.get(`${vlan} ${to}`);
    const isKnown = station !== undefined && seconds - station.seen <= 300;
    if (isKnown && station.port === port) return this.#drop(port, 'same_port');
    const outputs = isKnown
      ? [station.port]
      : [...this.attached].filter((other) => {
          const settings = this.#settings(other);
          return other !== port && (settings.type === 'dot1q' || settings.vlan === vlan);
        });
    if (outputs.length === 0) return this.#drop(port, 'no_output');
    if (outputs.length > 1) this.#count(port, 'copies', outputs.length - 1);
    return outputs.flatMap((output) => {
      const settings = this.#settings(output);
      const kinds = [cameAs, settings.type].sort().join();
      if (kinds === 'access,qinq') return this.#drop(port, 'vlan_mismatch');
      const leavesTagged = settings.type === 'dot1q' && (settings.vlan !== vlan || type === 'qinq');
      return [`${output} ${addresses}${leavesTagged ? outside : inside}`];
    });
  }

  #settings(port: number): EthernetPort {
    return this.ports.get(port) ?? access(port, 1);
  }

  #drop(port: number, cause: CounterName): string[] {
    this.#count(port, cause, 1);
    return [];
  }

  #count(port: number, name: CounterName, by: number): void {
    const key = `${port} ${name}`;
    this.counted.set(key, (this.counted.get(key) ?? 0) + by);
  }
}

function isGroup(address: string): boolean {
  return parseInt(address.slice(0, 2), 16) % 2 === 1;
}

void t.test('the switch does what its description on paper does', (t) => {
  const random = new Random(testSeed(4));
  const content = new RandomBytes(testSeed(4));
  const rig = switchWith([]);
  const paper = new PaperSwitch();
  const attached = paper.attached;
  const addresses = Array.from({ length: 30 }, () => {
    const address = content.next(6);
    if (random.chance(0.9)) address[0] = (address[0] ?? 0) & 0xfe;
    return address.toString('hex');
  });
  const anyTag = (): string => {
    const control = random.below(16) * 0x1000 + random.pick([0, 1, 2, 10, 20, 30, 4095]);
    return random.pick(VLAN_ETHERTYPES).toString(16) + control.toString(16).padStart(4, '0');
  };
  const anyFrame = (): string => {
    const tags = Array.from({ length: random.pick([0, 1, 1, 2]) }, anyTag).join('');
    const payload = content.next(random.below(8)).toString('hex');
    const frame = [random.pick(addresses), random.pick(addresses), tags, '0800', payload].join('');
    return random.chance(0.02) ? frame.slice(0, 2 + 2 * random.below(18)) : frame;
  };
  const perPort = (sent: readonly Sent[]): string => {
    const queues = new Map<number, string[]>(PORTS.map((port) => [port, []]));
    for (const { port, bytes } of sent) queues.get(port)?.push(`${port} ${bytes.toString('hex')}`);
    return [...queues.values()].flat().join('\n');
  };
  let frames = 0;
  while (frames < 100_000) {
    if (attached.size === 0 || random.chance(0.1)) {
      const port = toggle(random, rig, attached);
      if (!attached.has(port)) paper.forget(port);
    }
    if (random.chance(0.1)) {
      // Some change, some are left out, most stay.
      const ports = PORTS.filter(() => random.chance(0.95)).map((port) =>
        random.chance(0.2) ? randomPort(random, port) : (paper.ports.get(port) ?? access(port, 1)),
      );
      rig.device.configure({ ports });
      paper.configure(ports);
    }
    rig.fabric.seconds += random.below(40) / 4;
    const seconds = Math.floor(rig.fabric.seconds);
    const from = random.pick([...attached]);
    const batch = Array.from({ length: 1 + random.below(64) }, anyFrame);
    const sent = perPort(
      rig.receive(
        from,
        batch.map((frame) => bytesOf(frame)),
      ),
    );
    const wanted = batch
      .flatMap((frame) => paper.receive(from, frame, seconds))
      .map((line) => ({ port: parseInt(line, 10), bytes: bytesOf(line.replace(/.* /, '')) }));
    if (sent !== perPort(wanted)) {
      t.equal(sent, perPort(wanted), `after ${frames} frames`);
      break;
    }
    frames += batch.length;
    if (random.chance(0.02)) {
      const alive = [...paper.stations].filter(([, { seen }]) => seconds - seen <= 300);
      const entries = macTable(rig) as readonly {
        mac: string;
        vlan: number;
        port: number;
        age_seconds: number;
      }[];
      t.same(
        entries
          .map((one) => [`${one.vlan} ${one.mac.replaceAll(':', '')}`, one.port, one.age_seconds])
          .sort(),
        alive.map(([key, { port, seen }]) => [key, port, seconds - seen]).sort(),
      );
    }
  }
  for (const port of PORTS) {
    for (const name of ['copies', ...DROP_CAUSES] as const) {
      t.equal(rig.counter(port, name), paper.counted.get(`${port} ${name}`) ?? 0, `${name} at port ${port}`);
    }
  }
  t.equal(rig.unaccounted, 0);
  t.end();
});
