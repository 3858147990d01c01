import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { PortEndpoint } from '../../../../src/engine/forwarding/transport.js';
import { lackForNamespaces, NetworkNamespace } from '../../../support/network-namespace.js';
import { RandomBytes } from '../../../support/random.js';
import { scratchFolder } from '../../../support/scratch.js';
import { linuxSockets } from '../../../support/linux-sockets.js';
import { TransportRig, type Attached } from '../../../support/transport-rig.js';
import { freePort, UdpPeer } from '../../../support/udp-peer.js';
import { UnixPeer } from '../../../support/unix-peer.js';
import { transportContract } from '../transport.contract.js';

const HOST = '127.0.0.1';
/** The most frames that a link may bring in a turn, with the run that may overshoot it. */
const MOST_A_TURN = 256 + 64;

const lack = lackForNamespaces();

transportContract(t, linuxSockets);

const cells = (count: number, length = 53): Buffer[] => {
  const bytes = new RandomBytes(length);
  return Array.from({ length: count }, () => bytes.next(length));
};

void t.test('a flooded link does not keep others from being served in the same turn', async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  const [flooded, flooder] = await rig.cable(t);
  const peer = await UdpPeer.open(t);
  const quiet: Attached[] = [];
  for (let count = 0; count < 150; count++) quiet.push(await rig.attachUdp(t, peer.port));
  let ofFlood = 0;
  flooded.onArrive = ({ count }) => {
    ofFlood += count;
  };
  // Some turns in which it is found to be busy.
  for (let warm = 0; warm < 40; warm++) {
    rig.send(flooder, cells(256));
    await rig.turn();
  }
  const FLOOD = 20_000;
  rig.send(flooder, cells(FLOOD));
  for (const { localPort } of quiet) await peer.send(localPort, cells(1));
  for (let turns = 1; turns <= 20; turns++) {
    ofFlood = 0;
    await rig.turn();
    t.ok(ofFlood <= MOST_A_TURN, `turn ${turns} brought ${ofFlood} frames of the flood`);
    t.equal(quiet.filter(({ arrived }) => arrived.length === 0).length, 0, 'and one of each other link');
  }
  const all = FLOOD + 40 * 256;
  await rig.turnUntil('the flood is over', () => flooded.arrived.length === all);
  t.equal(rig.books.counter(flooder.row, 'frames_out'), all);
});

void t.test(
  'frames that arrive while a link gathers a run come in order and are not forgotten',
  async (t) => {
    const rig = new TransportRig(t, linuxSockets);
    const [left, right] = await rig.cable(t);
    const frames = cells(8000);
    for (let at = 0; at < frames.length; at += 16) {
      rig.send(left, frames.slice(at, at + 16));
      // Deliberately not awaited: the next frames come before the link is due.
      void rig.transport.turn();
      if (at % 512 === 0) await rig.turn();
    }
    await rig.turnUntil('all have arrived', () => right.arrived.length === frames.length);
    t.same(Buffer.concat(right.arrived), Buffer.concat(frames));
  },
);

void t.test('a link that is removed while it gathers is not looked at again', async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  const [left, right] = await rig.cable(t);
  let sent = 0;
  const send = (count: number): void => {
    rig.send(left, cells(count));
    sent += count;
  };
  for (let round = 0; round < 5; round++) {
    // Some turns in which it is found to be busy.
    for (let warm = 0; warm < 80; warm++) {
      send(64);
      void rig.transport.turn();
    }
    send(8);
    rig.transport.remove(right.link);
    const handedOver = right.arrived.length;
    for (let turns = 0; turns < 5; turns++) await rig.turn();
    t.equal(right.arrived.length, handedOver);
    await rig.attachAgain(right);
    await rig.turnUntil('what waited comes', () => right.arrived.length === sent);
  }
  t.same(Buffer.concat(right.arrived).length, sent * 53);
});

void t.test('frames that wait at a removed link do not keep the thread busy', async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  const [left, right] = await rig.cable(t);
  rig.transport.remove(right.link);
  rig.send(left, cells(10));
  t.ok((await turnsWithin(rig, 300)) < 10);
  await rig.attachAgain(right);
  await rig.transport.turn();
  t.equal(right.arrived.length, 10);
});

void t.test('a refusal that is told in the middle of traffic costs nothing that has arrived', async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  const peer = await UdpPeer.open(t);
  const port = await freePort();
  const link = await rig.attachUdp(t, port);
  const witness = await rig.attachUdp(t, peer.port);
  for (let round = 1; round <= 30; round++) {
    const endpoint = rig.sockets.opener.open({
      type: 'udp',
      localHost: HOST,
      localPort: port,
      remoteHost: HOST,
      remotePort: link.localPort,
    });
    const far = await rig.attach(endpoint, port);
    rig.send(far, cells(64));
    rig.transport.remove(far.link);
    rig.sockets.opener.close(endpoint);
    // Nobody is there now: what is sent is refused, and the refusal waits in front of the frames.
    rig.send(link, cells(2));
    if (round % 2 === 0) rig.transport.drain(link.link);
    else await rig.transport.turn();
    t.equal(link.arrived.length, round * 64);
    await peer.send(witness.localPort, cells(1));
    await rig.turnUntil('others are served', () => witness.arrived.length === round);
  }
});

void t.test(
  'a link whose frames were refused is served at once when its peer answers, whatever others do',
  async (t) => {
    const rig = new TransportRig(t, linuxSockets);
    const [busy, other] = await rig.cable(t);
    const port = await freePort();
    const link = await rig.attachUdp(t, port);
    for (let refusals = 0; refusals < 50; refusals++) {
      rig.send(link, cells(1));
      rig.send(other, cells(1));
      await rig.transport.turn();
    }
    const peer = await UdpPeer.open(t, HOST, port);
    await peer.send(link.localPort, cells(3));
    for (let turns = 0; turns < 3; turns++) {
      rig.send(other, cells(1));
      await rig.transport.turn();
    }
    t.equal(link.arrived.length, 3);
    t.ok(busy.arrived.length > 50);
  },
);

void t.test('a datagram larger than any frame is counted and not handed over', async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  const folder = scratchFolder(t);
  const [near, far] = [join(folder, 'near'), join(folder, 'far')];
  const peer = new UnixPeer(t, far);
  const link = await rig.attach(rig.open(t, { type: 'unix', localFile: near, remoteFile: far }));
  peer.connect(near);
  const largest = cells(1, 65_536);
  peer.send(Buffer.alloc(100_000, 1));
  peer.send(Buffer.concat(largest));
  await rig.turnUntil('the second arrives', () => link.arrived.length === 1);
  t.same(link.arrived, largest);
  t.same(rig.books.counters(link.row), { frames_in: 2, octets_in: 65_536, oversize: 1 });
});

void t.test('a Unix socket carries frames both ways, and one that is full drops and counts', async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  const folder = scratchFolder(t);
  const [near, far] = [join(folder, 'near'), join(folder, 'far')];
  const peer = new UnixPeer(t, far);
  const link = await rig.attach(rig.open(t, { type: 'unix', localFile: near, remoteFile: far }));
  peer.connect(near);
  const frames = [...cells(5), ...cells(2, 1500), ...cells(1, 9216)];
  for (const frame of frames) peer.send(frame);
  await rig.turnUntil('all arrive', () => link.arrived.length === frames.length);
  t.same(link.arrived, frames);
  rig.send(link, frames);
  t.same(
    frames.map(() => peer.receive()),
    frames,
  );
  t.equal(peer.receive(), undefined);

  const SENT = 5000;
  rig.send(link, cells(SENT));
  let there = 0;
  while (peer.receive() !== undefined) there++;
  const { frames_out: sent, send_buffer_full: full } = rig.books.counters(link.row);
  t.equal(sent, frames.length + there);
  t.equal(full, SENT - there);
});

void t.test(
  'frames beyond the MTU of the route leave singly, in order, and none is lost',
  { skip: lack },
  async (t) => {
    const namespace = new NetworkNamespace(t);
    namespace.ip('link', 'set', 'lo', 'mtu', '1500', 'up');
    const rig = new TransportRig(t, linuxSockets);
    const open = (localPort: number, remotePort: number): PortEndpoint =>
      namespace.inside(() =>
        rig.open(t, { type: 'udp', localHost: HOST, localPort, remoteHost: HOST, remotePort }),
      );
    const [left, right] = [await rig.attach(open(1000, 2000)), await rig.attach(open(2000, 1000))];
    const sent: Buffer[] = [];
    for (const frames of [
      cells(10, 1600),
      cells(30, 1400),
      cells(3, 4000),
      [...cells(5, 1600), ...cells(9)],
    ]) {
      rig.send(left, frames);
      sent.push(...frames);
      await rig.turnUntil('all arrive', () => right.arrived.length === sent.length);
    }
    t.same(right.arrived, sent);
    t.equal(rig.books.counter(left.row, 'frames_out'), sent.length);
  },
);

void t.test(
  'a packet socket refuses what its interface cannot carry, and counts it',
  { skip: lack },
  async (t) => {
    const namespace = new NetworkNamespace(t);
    namespace.ip('link', 'add', 'left', 'type', 'veth', 'peer', 'name', 'right');
    for (const device of ['left', 'right']) namespace.ip('link', 'set', device, 'mtu', '1500', 'up');
    const rig = new TransportRig(t, linuxSockets);
    const open = (device: string): Promise<Attached> =>
      rig.attach(namespace.inside(() => rig.open(t, { type: 'packet', device })));
    const [left, right] = [await open('left'), await open('right')];
    const [small, large] = [cells(2, 1514), cells(3, 1600)];
    for (const device of ['left', 'right']) await namespace.isUp(device);
    rig.send(left, [...small, ...large, ...small]);
    await rig.turnUntil('the small ones arrive', () => right.arrived.length === 4);
    t.same(right.arrived, [...small, ...small]);
    t.same(rig.books.counters(left.row), { frames_out: 4, octets_out: 4 * 1514, too_big_for_route: 3 });
    // The other end is down: an error that is told once.
    namespace.ip('link', 'set', 'left', 'down');
    rig.send(left, small);
    t.equal(rig.books.counter(left.row, 'send_failed'), 2);
    t.ok((await turnsWithin(rig, 300)) < 20, 'and does not keep the thread busy');
    namespace.ip('link', 'set', 'left', 'up');
    for (const device of ['left', 'right']) await namespace.isUp(device);
    rig.send(right, small);
    await rig.turnUntil('it works again', () => left.arrived.length === 2);
    namespace.ip('link', 'del', 'left');
    t.ok((await turnsWithin(rig, 300)) < 20, 'nor does an interface that has gone');
  },
);

void t.test(
  'a TAP whose interface is down or has gone does not keep the thread busy',
  { skip: lack },
  async (t) => {
    const namespace = new NetworkNamespace(t);
    const rig = new TransportRig(t, linuxSockets);
    const open = (device: string): Promise<Attached> =>
      rig.attach(namespace.inside(() => rig.open(t, { type: 'tap', device })));
    const tap = await open('tap1');
    const doomed = await open('tap2');
    namespace.ip('link', 'set', 'tap1', 'up');
    namespace.ip('link', 'set', 'tap2', 'up');
    namespace.ip('link', 'set', 'tap1', 'down');
    namespace.ip('link', 'del', 'tap2');
    t.ok((await turnsWithin(rig, 1200)) < 60);
    rig.send(doomed, cells(2, 100));
    t.equal(rig.books.counter(doomed.row, 'send_failed'), 2);

    // While others keep the thread busy, it works as soon as it is up.
    const [busy, other] = await rig.cable(t);
    namespace.ip('link', 'set', 'tap1', 'up');
    const wire = await rig.attach(namespace.inside(() => rig.open(t, { type: 'packet', device: 'tap1' })));
    rig.send(wire, cells(3, 200));
    await rig.turnUntil('frames come in at the TAP', () => {
      rig.send(other, cells(1));
      return tap.arrived.length === 3;
    });
    t.ok(busy.arrived.length > 0);
    rig.transport.remove(doomed.link);
  },
);

void t.test('a TAP that is ready without having frames is left alone for a while', async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  // A pipe whose writers have gone is like a TAP whose interface has gone, but writers can come back.
  const pipe = join(scratchFolder(t), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const descriptor = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  t.teardown(() => {
    closeSync(descriptor);
  });
  const link = await rig.attach({ type: 'tap', descriptor });
  closeSync(openSync(pipe, 'w'));
  t.ok((await turnsWithin(rig, 1200)) < 60);
  const writer = openSync(pipe, 'w');
  writeSync(writer, Buffer.alloc(60, 1));
  await rig.turnUntil('it is tried again', () => link.arrived.length === 1);
  writeSync(writer, Buffer.alloc(61, 2));
  await rig.turn();
  t.same(link.arrived, [Buffer.alloc(60, 1), Buffer.alloc(61, 2)], 'and watched as before');
  closeSync(writer);
  rig.transport.remove(link.link);
  await rig.turn();
});

/** How many turns pass in a time in which nobody rings. */
async function turnsWithin(rig: TransportRig, milliseconds: number): Promise<number> {
  const end = performance.now() + milliseconds;
  let turns = 0;
  while (performance.now() < end) {
    await rig.transport.turn();
    turns++;
  }
  return turns;
}
