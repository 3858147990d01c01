import t from 'tap';
import type { AtmConnection } from '../../../src/engine/devices/atm-switch.js';
import type { UdpEndpoint } from '../../../src/engine/forwarding/transport.js';
import type { DeviceSettings } from '../../../src/engine/forwarding/orders.js';
import { headerOf, hecOf } from '../../../src/engine/wire/atm-cell.js';
import { EngineRig, HUB, SWITCH } from '../../support/engine-rig.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';

const FRAME_RELAY: DeviceSettings = { kind: 'frame_relay_switch', settings: { connections: [] } };

/** Frames that no device takes for anything else than frames of its own kind: to everybody, from 02…01. */
function frames(count: number, length = 60, seed = 1): Buffer[] {
  const bytes = new RandomBytes(seed);
  const start = Buffer.from('ffffffffffff02000000000108aa', 'hex');
  return Array.from({ length: count }, () => Buffer.concat([start, bytes.next(length - start.length)]));
}

function cell(vpi: number, vci: number, fill = 0): Buffer {
  const bytes = Buffer.alloc(53, fill);
  bytes.writeInt32BE(headerOf(vpi, vci));
  bytes[4] = hecOf(headerOf(vpi, vci));
  return bytes;
}

/** Both directions of a channel. */
function channel(port: number, vci: number, toPort: number, toVci: number, counter = 0): AtmConnection[] {
  return [
    { port, vpi: 0, vci, toPort, toVpi: 0, toVci, counter },
    { port: toPort, vpi: 0, vci: toVci, toPort: port, toVpi: 0, toVci: vci, counter: counter + 1 },
  ];
}

const atm = (...connections: readonly AtmConnection[][]): DeviceSettings => ({
  kind: 'atm_switch',
  settings: { connections: connections.flat(), refusesBadHec: false },
});

void t.test('devices carry frames between their ports, each its own', (t) => {
  const rig = new EngineRig();
  rig.add(1, HUB);
  rig.add(2, HUB);
  const [a, b, c, d] = [rig.outside(1, 1), rig.outside(1, 2), rig.outside(2, 1), rig.outside(2, 2)];
  const [some, others] = [frames(300, 60, 1), frames(5, 1500, 2)];
  rig.network.deliver(a.end, some);
  rig.network.deliver(d.end, others);
  rig.network.run();
  t.same(rig.network.taken(b.end), some);
  t.same(rig.network.taken(c.end), others);
  t.equal(rig.network.outside.size, 0);
  t.same(rig.books.counters(a.row), { frames_in: 300, octets_in: 18_000 });
  t.same(rig.books.counters(c.row), { frames_out: 5, octets_out: 7500 });
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('orders about what is not there are refused and change nothing', (t) => {
  const rig = new EngineRig();
  rig.add(1, HUB);
  const near = rig.outside(1, 1);
  const noDevice = { message: 'there is no device 2' };
  t.throws(() => {
    rig.configure(2, HUB);
  }, noDevice);
  t.throws(() => {
    rig.remove(2);
  }, noDevice);
  t.throws(() => rig.attach(2, 1, { type: 'null' }), noDevice);
  t.throws(() => {
    rig.detach(2, 1);
  }, noDevice);
  t.throws(() => rig.engine.perform({ do: 'inspect', device: 2 }), noDevice);
  t.throws(
    () => {
      rig.detach(1, 2);
    },
    { message: 'port 2 is not attached' },
  );
  t.equal(rig.network.links, 1);
  const far = rig.outside(1, 2);
  rig.network.deliver(near.end, frames(1));
  rig.network.run();
  t.same(rig.network.taken(far.end), frames(1));
  t.end();
});

void t.test('a port is attached once at a time, and the first stays', (t) => {
  const rig = new EngineRig();
  rig.add(1, HUB);
  const [first, other] = [rig.outside(1, 1), rig.outside(1, 2)];
  const second = rig.network.open('second:1', 'elsewhere:1');
  t.throws(() => rig.attach(1, 1, second), { message: 'port 1 is attached' });
  t.equal(rig.network.links, 2);
  rig.network.deliver(first.end, frames(2));
  rig.network.run();
  t.same(rig.network.taken(other.end), frames(2));
  rig.detach(1, 1);
  t.equal(rig.network.links, 1, 'and nothing of the second is left');
  rig.attach(1, 1, second);
  rig.network.deliver(other.end, frames(1));
  rig.network.run();
  t.same(rig.network.taken(second), frames(1));
  t.end();
});

void t.test('an attachment that the transport refuses leaves no trace', async (t) => {
  const rig = new EngineRig();
  rig.add(1, HUB);
  const near = rig.outside(1, 1);
  const far = rig.network.open('far:1', 'outside:1');
  const attachment = { port: 2, row: 9, endpoint: far, policy: { suspended: false, filters: undefined } };
  rig.network.refusal = new Error('no such port');
  t.throws(() => rig.engine.perform({ do: 'attach', device: 1, attachment }), { message: 'no such port' });
  rig.network.isSlow = true;
  await t.rejects(rig.engine.perform({ do: 'attach', device: 1, attachment }) as Promise<void>, {
    message: 'no such port',
  });
  rig.network.deliver(near.end, frames(1));
  rig.network.run();
  t.same(rig.books.counters(near.row), { frames_in: 1, octets_in: 60, no_output: 1 });

  rig.network.refusal = undefined;
  await rig.engine.perform({ do: 'attach', device: 1, attachment });
  rig.network.deliver(near.end, frames(1));
  rig.network.run();
  t.same(rig.network.taken(far), frames(1), 'a slow one is attached when it is open');
});

void t.test('a socket that opens after its device has gone is given up', async (t) => {
  const rig = new EngineRig();
  rig.add(1, HUB);
  rig.network.isSlow = true;
  const end = rig.network.open('near:1', 'far:1');
  const attachment = { port: 1, row: 0, endpoint: end, policy: { suspended: false, filters: undefined } };
  const attached = rig.engine.perform({ do: 'attach', device: 1, attachment }) as Promise<void>;
  rig.remove(1);
  await t.rejects(attached, { message: 'there is no device 1' });
  t.equal(rig.network.links, 0);
});

void t.test('a suspended port neither takes nor gives, and counts what it did not', (t) => {
  const rig = new EngineRig();
  rig.add(1, HUB);
  const near = rig.outside(1, 1);
  const far = rig.outside(1, 2, true);
  rig.network.deliver(near.end, frames(3));
  rig.network.deliver(far.end, frames(5));
  rig.network.run();
  t.equal(rig.network.outside.size, 0);
  t.same(rig.books.counters(far.row), { frames_in: 5, octets_in: 300, suspended: 8 });
  t.equal(rig.books.unaccounted, 0);
  rig.detach(1, 2);
  rig.attach(1, 2, far.end);
  rig.network.deliver(near.end, frames(3));
  rig.network.run();
  t.equal(rig.network.taken(far.end).length, 3);
  t.end();
});

void t.test('a device that is removed lets go of all its ports, and of nobody else’s', (t) => {
  const rig = new EngineRig();
  rig.add(1, HUB);
  rig.add(2, HUB);
  const gone = [rig.outside(1, 1), rig.outside(1, 2), rig.outside(1, 3)];
  const [a, b] = [rig.outside(2, 1), rig.outside(2, 2)];
  rig.remove(1);
  t.equal(rig.network.links, 2);
  for (const { end } of gone) rig.network.deliver(end, frames(1));
  rig.network.deliver(a.end, frames(2));
  rig.network.run();
  t.equal(rig.network.taken(b.end).length, 2);
  t.equal(rig.network.outside.size, 0);
  rig.add(1, SWITCH);
  t.same(rig.engine.perform({ do: 'inspect', device: 1 }), { mac_table: [] }, 'its number can be used again');
  t.end();
});

void t.test('a device is set while frames pass, and tells what it has learnt', (t) => {
  const rig = new EngineRig();
  rig.add(1, atm(channel(1, 100, 2, 200)));
  const [a, b, c] = [rig.outside(1, 1), rig.outside(1, 2), rig.outside(1, 3)];
  rig.network.deliver(a.end, [cell(0, 100, 7), cell(0, 101, 8)]);
  rig.network.run();
  t.same(rig.network.taken(b.end), [cell(0, 200, 7)]);
  rig.configure(1, atm(channel(1, 100, 3, 300, 2), channel(1, 101, 2, 201, 4)));
  rig.network.deliver(a.end, [cell(0, 100, 7), cell(0, 101, 8)]);
  rig.network.run();
  t.same(rig.network.taken(c.end), [cell(0, 300, 7)]);
  t.same(rig.network.taken(b.end), [cell(0, 201, 8)]);
  t.same([...rig.connections.slice(0, 6)], [1, 0, 1, 0, 1, 0]);
  t.equal(rig.books.unaccounted, 0);

  rig.add(2, SWITCH);
  const [left] = [rig.outside(2, 1), rig.outside(2, 2)];
  rig.network.deliver(left.end, frames(1));
  rig.network.run();
  t.match(rig.engine.perform({ do: 'inspect', device: 2 }), {
    mac_table: [{ port: 1 }],
  });
  t.end();
});

void t.test('frames that a device makes take no room after the turn', (t) => {
  const rig = new EngineRig();
  const ports = [
    { port: 1, type: 'access', vlan: 5, ethertype: 0x8100 },
    { port: 2, type: 'dot1q', vlan: 1, ethertype: 0x8100 },
  ] as const;
  rig.add(1, { kind: 'ethernet_switch', settings: { ports } });
  const [near, far] = [rig.outside(1, 1), rig.outside(1, 2)];
  const TURNS = 40;
  for (let turn = 0; turn < TURNS; turn++) {
    rig.network.deliver(near.end, frames(200, 1000));
    rig.network.turn();
  }
  const tagged = rig.network.taken(far.end);
  t.equal(tagged.length, TURNS * 200);
  t.same(new Set(tagged.map((frame) => frame.toString('hex', 12, 16))), new Set(['81000005']));
  t.end();
});

/** Two devices with one port outside each, and a link between them that is not attached yet. */
function pair(settings: DeviceSettings, other = settings) {
  const rig = new EngineRig();
  rig.add(1, settings);
  rig.add(2, other);
  const [left, right] = [rig.outside(1, 1), rig.outside(2, 1)];
  const [one, two] = rig.cable('link');
  return { rig, left, right, one, two };
}

void t.test('a link between devices of one engine needs no socket', (t) => {
  const { rig, left, right, one, two } = pair(HUB);
  const [oneRow, twoRow] = [rig.attach(1, 2, one), rig.attach(2, 2, two)];
  const [there, back] = [frames(700, 80, 1), frames(300, 70, 2)];
  rig.network.deliver(left.end, there);
  rig.network.deliver(right.end, back);
  const before = rig.network.sent;
  rig.network.run();
  t.same(rig.network.taken(right.end), there);
  t.same(rig.network.taken(left.end), back);
  t.equal(rig.network.sent - before, 1000, 'only what left outside went through a socket');
  t.same(rig.books.counters(oneRow), {
    frames_in: 300,
    octets_in: 21_000,
    frames_out: 700,
    octets_out: 56_000,
  });
  t.same(rig.books.counters(twoRow), {
    frames_in: 700,
    octets_in: 56_000,
    frames_out: 300,
    octets_out: 21_000,
  });
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('frames keep their order when a link is fused and when it is parted', (t) => {
  const { rig, left, right, one, two } = pair(HUB);
  const all = frames(1200, 60, 3);
  const sent = { left: 0, right: 0 };
  const send = (count: number): void => {
    rig.network.deliver(left.end, all.slice(sent.left, sent.left + count));
    rig.network.deliver(right.end, all.slice(sent.right, sent.right + count));
    sent.left += count;
    sent.right += count;
    // One turn takes them to the sockets of the link, where they wait.
    rig.network.turn();
  };
  rig.attach(1, 2, one);
  send(100);
  rig.attach(2, 2, two);
  send(100);
  for (let round = 0; round < 5; round++) {
    rig.detach(1, 2);
    rig.network.deliver(right.end, all.slice(sent.right, sent.right + 100));
    sent.right += 100;
    rig.network.turn();
    rig.attach(1, 2, one);
    send(50);
    rig.detach(2, 2);
    rig.network.deliver(left.end, all.slice(sent.left, sent.left + 100));
    sent.left += 100;
    rig.network.turn();
    rig.attach(2, 2, two);
    send(50);
  }
  rig.network.run();
  const lostFirst = 100;
  t.same(rig.network.taken(right.end), all.slice(0, sent.left));
  t.same(
    rig.network.taken(left.end),
    all.slice(lostFirst, sent.right),
    'all but those before it was attached',
  );
  t.equal(rig.network.lost, 0);
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('frames that wait at both ends of a link come before the first fused frame', (t) => {
  const rig = new EngineRig();
  rig.add(1, HUB);
  rig.add(2, HUB);
  const [left, right] = [rig.outside(1, 1), rig.outside(2, 1)];
  const [one, two] = rig.cable('link');
  const all = frames(20);
  // Somebody else had the ends before, and has sent to both.
  rig.network.deliver(one, all.slice(0, 5));
  rig.network.deliver(two, all.slice(0, 5));
  rig.attach(1, 2, one);
  rig.attach(2, 2, two);
  t.same(rig.network.taken(left.end), all.slice(0, 5), 'they were drained at once');
  t.same(rig.network.taken(right.end), all.slice(0, 5));
  rig.network.deliver(left.end, all.slice(5));
  rig.network.run();
  t.same(rig.network.taken(right.end), all.slice(5));
  t.end();
});

void t.test('a link whose other half leaves goes on through its socket', (t) => {
  const { rig, left, right, one, two } = pair(HUB);
  rig.attach(1, 2, one);
  rig.attach(2, 2, two);
  rig.detach(2, 2);
  rig.network.closeSocket(two);
  rig.network.deliver(left.end, frames(4));
  rig.network.run();
  t.same(rig.network.taken(one), frames(4), 'to the program that has taken its place');
  t.same(rig.network.taken(right.end), []);
  rig.network.deliver(one, frames(3));
  rig.network.run();
  t.same(rig.network.taken(left.end), frames(3));
  rig.detach(1, 2);
  rig.attach(1, 2, one);
  rig.network.deliver(left.end, frames(2));
  rig.network.run();
  t.same(rig.network.taken(one), frames(2), 'and nobody remembers the half that left');
  t.end();
});

void t.test('links of different media are not fused', (t) => {
  const { rig, left, one, two } = pair(HUB, FRAME_RELAY);
  rig.attach(1, 2, one);
  const twoRow = rig.attach(2, 2, two);
  const before = rig.network.sent;
  rig.network.deliver(left.end, frames(4));
  rig.network.run();
  t.equal(rig.network.sent - before, 8, 'they came in, and went on, through sockets');
  t.equal(rig.books.counter(twoRow, 'frames_in'), 4);
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('ends that do not name each other are not fused, whichever is attached first', (t) => {
  for (const isOneFirst of [true, false]) {
    const rig = new EngineRig();
    rig.add(1, HUB);
    rig.add(2, HUB);
    const left = rig.outside(1, 1);
    const right = rig.outside(2, 1);
    const one = rig.network.open('one:1', 'two:2');
    const two = rig.network.open('two:2', 'three:3');
    if (isOneFirst) rig.attach(1, 2, one);
    rig.attach(2, 2, two);
    if (!isOneFirst) rig.attach(1, 2, one);
    rig.network.deliver(left.end, frames(2));
    rig.network.deliver(right.end, frames(3));
    rig.network.run();
    t.equal(rig.network.lost, 2, 'it does not hear who is not its far end');
    t.equal(rig.network.taken(two).length, 3);
    t.equal(rig.network.taken(right.end).length, 0);
  }
  t.end();
});

void t.test('a port that is its own far end is not fused with itself', (t) => {
  const rig = new EngineRig();
  rig.add(1, atm(channel(1, 10, 2, 20), channel(1, 11, 2, 21)));
  const outside = rig.outside(1, 1);
  const loop = rig.network.open('loop:1', 'loop:1');
  const loopRow = rig.attach(1, 2, loop);
  rig.network.deliver(outside.end, [cell(0, 10, 5), cell(0, 11, 6)]);
  const before = rig.network.sent;
  rig.network.run();
  t.same(rig.network.taken(outside.end), [cell(0, 10, 5), cell(0, 11, 6)]);
  t.equal(rig.network.sent - before, 4);
  t.equal(rig.books.counter(loopRow, 'frames_in'), 2);
  rig.detach(1, 2);
  t.equal(rig.network.links, 1);
  t.end();
});

void t.test('two ports of one device can be fused', (t) => {
  const rig = new EngineRig();
  rig.add(1, atm(channel(1, 10, 2, 20), channel(3, 20, 4, 40)));
  const [near, far] = [rig.outside(1, 1), rig.outside(1, 4)];
  const [one, two] = rig.cable('loop');
  rig.attach(1, 2, one);
  rig.attach(1, 3, two);
  rig.network.deliver(near.end, [cell(0, 10, 1)]);
  rig.network.deliver(far.end, [cell(0, 40, 2)]);
  const before = rig.network.sent;
  rig.network.run();
  t.same(rig.network.taken(far.end), [cell(0, 40, 1)]);
  t.same(rig.network.taken(near.end), [cell(0, 10, 2)]);
  t.equal(rig.network.sent - before, 2);
  t.equal(rig.books.unaccounted, 0);
  rig.remove(1);
  t.equal(rig.network.links, 0);
  t.end();
});

void t.test('a fused port that is suspended counts what does not pass', (t) => {
  const { rig, left, right, one, two } = pair(HUB);
  const oneRow = rig.attach(1, 2, one);
  const twoRow = rig.attach(2, 2, two, true);
  rig.network.deliver(left.end, frames(4));
  rig.network.deliver(right.end, frames(3));
  rig.network.run();
  t.equal(rig.network.outside.size, 0);
  t.same(rig.books.counters(oneRow), { frames_out: 4, octets_out: 240 });
  t.same(rig.books.counters(twoRow), { frames_in: 4, octets_in: 240, suspended: 7 });
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

/** A ring of hubs, and a port outside of each. */
function ringOf(rig: EngineRig, hubs: number): UdpEndpoint[] {
  for (let hub = 0; hub < hubs; hub++) rig.add(hub, HUB);
  for (let hub = 0; hub < hubs; hub++) {
    const [one, two] = rig.cable(`ring-${hub}`);
    rig.attach(hub, 1, one);
    rig.attach((hub + 1) % hubs, 2, two);
  }
  return Array.from({ length: hubs }, (_, hub) => rig.outside(hub, 3).end);
}

const LONGEST_WAY = 64;

void t.test('a frame in a ring of hubs goes round for one turn, and every copy is accounted for', (t) => {
  const rig = new EngineRig();
  const outside = ringOf(rig, 3);
  const [first] = outside;
  if (first === undefined) throw new Error('a ring has hubs');
  rig.network.deliver(first, frames(1));
  rig.network.turn();
  t.ok(rig.network.isQuiet, 'nothing goes on into the next turn');
  t.equal(rig.books.total('hop_limit'), 2, 'one went round this way, one the other');
  const out = rig.books.total('frames_out');
  t.equal(out, 2 * (LONGEST_WAY + 1) + 2 * LONGEST_WAY, 'over links, and at each hub outside');
  t.equal(rig.books.unaccounted, 0);
  t.equal(
    outside.reduce((sum, end) => sum + rig.network.taken(end).length, 0),
    2 * LONGEST_WAY,
  );
  t.end();
});

void t.test('a storm in a ring of hubs ends, turn by turn, and other devices see nothing of it', (t) => {
  const rig = new EngineRig();
  const [first] = ringOf(rig, 3);
  rig.add(9, HUB);
  const [near, far] = [rig.outside(9, 1), rig.outside(9, 2)];
  if (first === undefined) throw new Error('a ring has hubs');
  for (let turn = 0; turn < 20; turn++) {
    rig.network.deliver(first, frames(256));
    rig.network.deliver(near.end, frames(10));
    rig.network.turn();
    t.equal(rig.network.taken(far.end).length, 10);
  }
  t.ok(rig.network.isQuiet);
  const { hop_limit: dropped = 0, frames_in: entered = 0 } = rig.books.totals();
  t.ok(dropped >= 20 * 256, `${dropped} were dropped as going round`);
  t.ok(entered < 20 * 40_000, `${entered} frames came in anywhere`);
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('hubs that are linked more than once multiply frames no further than a turn can carry', (t) => {
  const rig = new EngineRig();
  for (let hub = 1; hub <= 4; hub++) rig.add(hub, HUB);
  let cables = 0;
  for (const [one, two] of [
    [1, 2],
    [1, 2],
    [2, 3],
    [2, 3],
    [3, 4],
    [4, 1],
    [1, 3],
    [2, 4],
  ] as const) {
    const [left, right] = rig.cable(`storm-${++cables}`);
    rig.attach(one, 10 + cables, left);
    rig.attach(two, 10 + cables, right);
  }
  const outside = rig.outside(1, 1);
  rig.network.deliver(outside.end, frames(300));
  rig.network.run(2);
  t.ok(rig.network.isQuiet);
  const { queue_full: full = 0, hop_limit: round = 0, copies = 0 } = rig.books.totals();
  t.ok(full > 0, `${full} found the queue of a link full`);
  t.ok(round > 0, `${round} went too far`);
  t.ok(copies > 300 && copies < 1_000_000, `${copies} copies`);
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('a way through many links is passed up to its limit', (t) => {
  const lengthOf = (links: number): { rig: EngineRig; arrived: number } => {
    const rig = new EngineRig();
    for (let hub = 0; hub <= links; hub++) rig.add(hub, HUB);
    for (let link = 0; link < links; link++) {
      const [one, two] = rig.cable(`link-${link}`);
      rig.attach(link, 1, one);
      rig.attach(link + 1, 2, two);
    }
    const [start, end] = [rig.outside(0, 3), rig.outside(links, 3)];
    rig.network.deliver(start.end, frames(100));
    rig.network.run();
    return { rig, arrived: rig.network.taken(end.end).length };
  };
  const short = lengthOf(LONGEST_WAY);
  t.equal(short.arrived, 100);
  t.equal(short.rig.books.total('hop_limit'), 0);
  const long = lengthOf(LONGEST_WAY + 1);
  t.equal(long.arrived, 0);
  t.equal(long.rig.books.total('hop_limit'), 100);
  t.equal(long.rig.books.unaccounted, 0);
  t.end();
});

/** A lab that changes all the time: what is installed, what is attached, and where traffic comes from. */
class RestlessLab {
  readonly rig = new EngineRig();
  readonly #random: Random;
  readonly #bytes: RandomBytes;
  readonly #devices = new Map<number, { settings: DeviceSettings; ports: Map<number, UdpEndpoint> }>();
  readonly #free: UdpEndpoint[] = [];
  #lastDevice = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#bytes = new RandomBytes(seed);
    for (let pair = 0; pair < 20; pair++) this.#free.push(...this.rig.cable(`cable-${pair}`));
    for (let end = 0; end < 15; end++)
      this.#free.push(this.rig.network.open(`near-${end}:1`, `far-${end}:2`));
  }

  step(): void {
    const roll = this.#random.below(100);
    const id = this.#random.pick([...this.#devices.keys(), 0]);
    const device = this.#devices.get(id);
    if (device === undefined || (roll < 3 && this.#devices.size < 12)) this.#add();
    else if (roll < 5) this.#remove(id);
    else if (roll < 15) this.#configure(id);
    else if (roll < 35) this.#attach(id);
    else if (roll < 43) this.#detach(id);
    else this.#traffic();
  }

  #settingsOf(kind: DeviceSettings['kind']): DeviceSettings {
    const port = (): number => 1 + this.#random.below(6);
    const label = (): number => 16 + this.#random.below(4);
    const some = <Made>(make: () => Made): Made[] => Array.from({ length: 12 }, make);
    switch (kind) {
      case 'atm_switch': {
        const connections = some(() => channel(port(), label(), port(), label(), this.#random.below(100)));
        return atm(...connections);
      }
      case 'frame_relay_switch': {
        const connections = some(() => {
          return {
            port: port(),
            dlci: label(),
            toPort: port(),
            toDlci: label(),
            counter: this.#random.below(100),
          };
        });
        return { kind, settings: { connections } };
      }
      case 'ethernet_switch': {
        const types = ['access', 'dot1q', 'qinq'] as const;
        const ports = some(() => {
          const type = this.#random.pick(types);
          return { port: port(), type, vlan: 1 + this.#random.below(2), ethertype: 0x88a8 };
        });
        return { kind, settings: { ports } };
      }
      case 'ethernet_hub':
        return HUB;
      case 'netio_bridge':
        return { kind, settings: { image: label(), bridge: label() } };
      case 'patch':
        return { kind, settings: null };
    }
  }

  #add(): void {
    const kinds = [
      ...(['atm_switch', 'frame_relay_switch', 'ethernet_switch', 'ethernet_hub'] as const),
      ...(['netio_bridge', 'patch'] as const),
    ] as const;
    const settings = this.#settingsOf(this.#random.pick(kinds));
    this.rig.add(++this.#lastDevice, settings);
    this.#devices.set(this.#lastDevice, { settings, ports: new Map() });
  }

  #remove(id: number): void {
    this.rig.remove(id);
    this.#free.push(...(this.#devices.get(id)?.ports.values() ?? []));
    this.#devices.delete(id);
  }

  #configure(id: number): void {
    const device = this.#devices.get(id);
    if (device !== undefined) this.rig.configure(id, this.#settingsOf(device.settings.kind));
  }

  #attach(id: number): void {
    const device = this.#devices.get(id);
    const port = 1 + this.#random.below(6);
    const [end] = this.#free.splice(this.#random.below(this.#free.length), 1);
    if (device === undefined || end === undefined) return;
    if (device.ports.has(port)) {
      this.#free.push(end);
      return;
    }
    this.rig.attach(id, port, end, this.#random.chance(0.1));
    device.ports.set(port, end);
  }

  #detach(id: number): void {
    const device = this.#devices.get(id);
    if (device === undefined || device.ports.size === 0) return;
    const [port, end] = this.#random.pick([...device.ports]);
    this.rig.detach(id, port);
    device.ports.delete(port);
    this.#free.push(end);
  }

  #traffic(): void {
    const ends = [...this.#devices.values()].flatMap(({ ports }) => [...ports.values()]);
    if (ends.length === 0) return;
    const count = 1 + this.#random.below(this.#random.chance(0.1) ? 300 : 10);
    const made = Array.from({ length: count }, () => this.#frame());
    this.rig.network.deliver(this.#random.pick(ends), made);
    for (let turns = this.#random.below(4); turns > 0; turns--) this.rig.network.turn();
  }

  #frame(): Buffer {
    const random = this.#random;
    const roll = random.below(10);
    if (roll < 3) return cell(0, 16 + random.below(5), random.below(256));
    if (roll < 5) {
      const frame = this.#bytes.next(4 + random.below(60));
      // A DLCI from 16 on, and what a data frame has in its second octet.
      const dlci = 16 + random.below(5);
      frame[0] = (dlci >> 4) << 2;
      frame[1] = ((dlci & 0xf) << 4) | 1;
      return frame;
    }
    if (roll < 6) return this.#bytes.next(1 + random.below(70));
    const frame = this.#bytes.next(18 + random.below(300));
    const stations = ['ffffffffffff', '020000000001', '020000000002', '020000000003'];
    frame.write(random.pick(stations), 0, 'hex');
    frame.write(random.pick(stations.slice(1)), 6, 'hex');
    frame.write(random.pick(['08aa', '81000001', '8100e002', '88a80002']), 12, 'hex');
    return frame;
  }
}

void t.test('whatever is installed, attached and sent, no frame is lost or invented', (t) => {
  const seed = testSeed(3101);
  t.comment(`seed ${seed}`);
  const seen = { entered: 0, left: 0, copies: 0, fused: 0, suspended: 0 };
  for (let lab = 0; lab < 12; lab++) {
    const restless = new RestlessLab(seed + lab);
    const { books, network } = restless.rig;
    for (let step = 1; step <= 400; step++) {
      restless.step();
      if (books.unaccounted !== 0) {
        t.fail(`seed ${seed + lab}, step ${step}: ${books.unaccounted} frames are unaccounted for`);
        break;
      }
    }
    network.run(50);
    t.equal(books.unaccounted, 0);
    const fused = books.total('frames_out') - network.wentOut;
    t.equal(books.total('frames_in') - network.cameIn, fused, 'what enters a fused link leaves it');
    seen.entered += books.total('frames_in');
    seen.left += books.total('frames_out');
    seen.copies += books.total('copies');
    seen.suspended += books.total('suspended');
    seen.fused += fused;
  }
  t.comment(JSON.stringify(seen));
  for (const [what, count] of Object.entries(seen)) t.ok(count > 100, `${count} ${what}`);
  t.end();
});
