import t from 'tap';
import { passesNat } from '../../../src/engine/devices/nat-gate.js';
import { Patch } from '../../../src/engine/devices/patch.js';
import { NAT_NETWORK } from '../../../src/run/nodes/nat/nat-network.js';
import { DeviceRig } from '../../support/device-rig.js';
import { RandomBytes, testSeed } from '../../support/random.js';

const ROUTER = '192.168.122.1';
const NAME_SERVER = '192.168.122.3';
const EVERYBODY = '255.255.255.255';
const WORLD = '198.18.79.1';
const [ICMP, TCP, UDP] = [1, 6, 17];

interface Packet {
  readonly to: string;
  readonly protocol: number;
  readonly port?: number;
  readonly fragment?: number;
  /** The length of the header in words of 32 bits. */
  readonly words?: number;
  readonly ethertype?: number;
}

function frameOf({ to, protocol, port = 0, fragment = 0, words = 5, ethertype = 0x0800 }: Packet): Buffer {
  const frame = Buffer.alloc(64 + 4 * words);
  frame.writeUInt16BE(ethertype, 12);
  frame[14] = 0x40 | words;
  frame.writeUInt16BE(fragment, 20);
  frame[23] = protocol;
  frame.writeUInt16BE(port, 14 + 4 * words + 2);
  frame.set(to.split('.').map(Number), 30);
  return frame;
}

const passes = (frame: Buffer, length = frame.length): boolean => passesNat(frame, 0, length, NAT_NETWORK);

void t.test('a frame to the world or to a service of the network passes', (t) => {
  const allowed: Packet[] = [
    { to: ROUTER, protocol: ICMP },
    { to: ROUTER, protocol: ICMP, fragment: 0x2000 },
    { to: ROUTER, protocol: UDP, port: 67 },
    { to: EVERYBODY, protocol: UDP, port: 67 },
    { to: EVERYBODY, protocol: UDP, port: 67, words: 15 },
    { to: NAME_SERVER, protocol: UDP, port: 53 },
    { to: NAME_SERVER, protocol: TCP, port: 53 },
    { to: NAME_SERVER, protocol: UDP, port: 53, fragment: 0x4000 },
    ...[ICMP, TCP, UDP, 47].map((protocol) => ({ to: WORLD, protocol })),
    ...[0x2000, 0x0001, 0x1fff].map((fragment) => ({ to: WORLD, protocol: UDP, fragment })),
    ...[
      '192.168.121.1',
      '192.168.123.1',
      '10.0.0.1',
      '169.253.1.1',
      '126.0.0.1',
      '128.0.0.1',
      '223.1.1.1',
    ].map((to) => ({ to, protocol: TCP, port: 22 })),
  ];
  for (const packet of allowed) t.ok(passes(frameOf(packet)), JSON.stringify(packet));
  t.ok(passes(frameOf({ to: ROUTER, protocol: 0, ethertype: 0x0806 })), 'ARP');
  t.end();
});

void t.test('a frame to the host of the program, or to where no router leads, is refused', (t) => {
  const refused: Packet[] = [
    ...[TCP, UDP].flatMap((protocol) => [22, 53, 69, 3080].map((port) => ({ to: ROUTER, protocol, port }))),
    { to: ROUTER, protocol: TCP, port: 67 },
    { to: ROUTER, protocol: 47 },
    { to: EVERYBODY, protocol: UDP, port: 68 },
    { to: EVERYBODY, protocol: ICMP },
    { to: EVERYBODY, protocol: TCP, port: 67 },
    { to: NAME_SERVER, protocol: ICMP },
    { to: NAME_SERVER, protocol: UDP, port: 67 },
    { to: NAME_SERVER, protocol: TCP, port: 54 },
    // The port of a later fragment is not where it is looked for; a first one may be written over.
    ...[0x2000, 0x0001, 0x2001, 0x1fff].flatMap((fragment) => [
      { to: ROUTER, protocol: UDP, port: 67, fragment },
      { to: EVERYBODY, protocol: UDP, port: 67, fragment },
      { to: NAME_SERVER, protocol: UDP, port: 53, fragment },
    ]),
    ...[0, 1, 4].map((words) => ({ to: ROUTER, protocol: UDP, port: 67, words })),
    ...['0.0.0.0', '0.1.2.3', '127.0.0.1', '127.255.255.255', '169.254.169.254', '224.0.0.251'].flatMap(
      (to) => [ICMP, TCP, UDP].map((protocol) => ({ to, protocol, port: 67 })),
    ),
    ...['240.0.0.1', '255.255.255.254', '192.168.122.0', '192.168.122.2', '192.168.122.255'].map((to) => ({
      ...{ to, protocol: UDP, port: 67 },
    })),
    ...[0x86dd, 0x8100, 0x88f8, 0x0801, 0x0026].map((ethertype) => ({ to: WORLD, protocol: TCP, ethertype })),
  ];
  for (const packet of refused) t.notOk(passes(frameOf(packet)), JSON.stringify(packet));
  t.end();
});

void t.test('a frame that is too short for what it is read for is refused', (t) => {
  const dhcp = frameOf({ to: EVERYBODY, protocol: UDP, port: 67, words: 15 });
  for (let length = 0; length < 14 + 60 + 4; length++) t.notOk(passes(dhcp, length), `${length} bytes`);
  t.ok(passes(dhcp, 14 + 60 + 4));
  const toWorld = frameOf({ to: WORLD, protocol: TCP });
  t.notOk(passes(toWorld, 33));
  t.ok(passes(toWorld, 34));
  t.end();
});

void t.test('a patch in front of a NAT counts what it refuses, and refuses nothing that comes back', (t) => {
  const rig = new DeviceRig((fabric) => new Patch(fabric), 0);
  rig.device.configure(NAT_NETWORK);
  rig.attach(0, 1);
  const good = frameOf({ to: WORLD, protocol: TCP });
  const bad = frameOf({ to: ROUTER, protocol: TCP, port: 3080 });
  t.same(rig.receive(1, [bad, good, bad]), [{ port: 0, bytes: good }]);
  t.same(rig.receive(0, [bad]), [{ port: 1, bytes: bad }]);
  t.match(rig.counters(1), { frames_in: 3, nat_refused: 2 });
  const content = new RandomBytes(testSeed(1));
  for (let turn = 0; turn < 200; turn++) {
    rig.receive(
      1,
      Array.from({ length: 20 }, (_, index) => content.next(1 + ((turn + index) % 90))),
    );
  }
  t.equal(rig.unaccounted, 0);
  rig.device.configure(null);
  t.same(rig.receive(1, [bad]), [{ port: 0, bytes: bad }]);
  t.end();
});

void t.test('an answer of DHCP goes to its client alone, and other frames stay as they are', (t) => {
  const rig = new DeviceRig((fabric) => new Patch(fabric), 0);
  rig.device.configure(NAT_NETWORK);
  rig.attach(0, 1);
  const client = Buffer.from('005079666801', 'hex');
  const answer = Buffer.concat([
    frameOf({ to: EVERYBODY, protocol: UDP, port: 68 }).subarray(0, 14 + 20 + 8),
    Buffer.alloc(28),
    client,
  ]);
  answer.fill(0xff, 0, 6);
  answer.writeUInt16BE(67, 34);
  const addressed = Buffer.concat([client, answer.subarray(6)]);
  t.same(rig.receive(0, [answer]), [{ port: 1, bytes: addressed }]);
  const changed = (at: number, value: number): Buffer => {
    const other = Buffer.from(answer);
    other[at] = value;
    return other;
  };
  const others = [
    answer.subarray(0, -1),
    ...[changed(13, 6), changed(14, 0x46), changed(23, TCP), changed(33, 1), changed(35, 1), changed(37, 1)],
  ];
  for (const other of others) t.same(rig.receive(0, [other]), [{ port: 1, bytes: other }]);
  t.end();
});
