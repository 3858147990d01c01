/**
 * The promises of every transport, as a suite over the sockets of a platform. The far ends are ordinary sockets
 * of node:dgram.
 */
import type { Test } from 'tap';
import { Random, RandomBytes, testSeed } from '../../support/random.js';
import { TransportRig, type Attached, type TransportKind } from '../../support/transport-rig.js';
import { freePort, portions, UdpPeer } from '../../support/udp-peer.js';

const LARGEST_DATAGRAM = 65_507;
const JUMBO = 9216;

export function transportContract(t: Test, kind: TransportKind): void {
  const withRig = (name: string, work: (t: Test, rig: TransportRig) => Promise<void>): void => {
    void t.test(name, async (t) => {
      await work(t, new TransportRig(t, kind));
    });
  };

  /** Frames of these lengths, each with bytes of its own. */
  const framesOf = (lengths: readonly number[], seed = 1): Buffer[] => {
    const bytes = new RandomBytes(seed);
    return lengths.map((length) => bytes.next(length));
  };

  const times = (count: number, length: number): number[] => Array.from({ length: count }, () => length);

  /** Frames from the far end, portion by portion, until the link has handed all of them over. */
  const bring = async (rig: TransportRig, peer: UdpPeer, to: Attached, frames: readonly Buffer[]) => {
    for (const portion of portions(frames)) {
      const all = to.arrived.length + portion.length;
      await peer.send(to.localPort, portion);
      await rig.turnUntil(`${all} frames arrive`, () => to.arrived.length >= all);
    }
  };

  /** Frames to the far end, portion by portion, until it has them all. */
  const dispatch = async (rig: TransportRig, from: Attached, peer: UdpPeer, frames: readonly Buffer[]) => {
    for (const portion of portions(frames)) {
      const all = peer.received.length + portion.length;
      rig.send(from, portion);
      await peer.receive(all);
    }
  };

  const octetsOf = (frames: readonly Buffer[]): number =>
    frames.reduce((octets, { length }) => octets + length, 0);

  withRig('frames of any length come in and leave in their order, byte for byte', async (t, rig) => {
    const seed = testSeed(2101);
    t.comment(`seed ${seed}`);
    const random = new Random(seed);
    const peer = await UdpPeer.open(t);
    const link = await rig.attachUdp(t, peer.port);
    const lengths = Array.from({ length: 400 }, () => 1 + random.below(random.chance(0.1) ? JUMBO : 300));
    const [there, back] = [framesOf(lengths, seed), framesOf(lengths, seed + 1)];
    await bring(rig, peer, link, there);
    t.same(link.arrived, there);
    await dispatch(rig, link, peer, back);
    t.same(peer.received, back);
    t.same(rig.books.counters(link.row), {
      frames_in: 400,
      octets_in: octetsOf(there),
      frames_out: 400,
      octets_out: octetsOf(back),
    });
  });

  withRig('runs of equal frames stay frames of their own, whatever follows the run', async (t, rig) => {
    const peer = await UdpPeer.open(t);
    const link = await rig.attachUdp(t, peer.port);
    const frames = framesOf([
      ...times(40, 53),
      20,
      ...times(3, 53),
      54,
      53,
      ...times(12, 60),
      1,
      1,
      2,
      ...times(9, 1500),
      1499,
    ]);
    await dispatch(rig, link, peer, frames);
    t.same(peer.received, frames);
    await bring(rig, peer, link, frames);
    t.same(link.arrived, frames);
    t.equal(rig.books.counter(link.row, 'frames_out'), frames.length);
    t.equal(rig.books.counter(link.row, 'octets_out'), octetsOf(frames));
  });

  withRig('a batch of as many frames as there can be leaves whole', async (t, rig) => {
    const peer = await UdpPeer.open(t);
    const link = await rig.attachUdp(t, peer.port);
    const cells = framesOf(times(256, 53));
    // Short enough for the buffer of any far end only because its thread takes them in between.
    for (let first = 0; first < cells.length; first += 32) {
      rig.send(link, cells.slice(first, first + 32));
      await peer.receive(first + 32);
    }
    rig.send(link, cells.slice(0, 100));
    await peer.receive(356);
    t.same(peer.received, [...cells, ...cells.slice(0, 100)]);
  });

  withRig('jumbo frames and the largest datagram there is pass in both directions', async (t, rig) => {
    const peer = await UdpPeer.open(t);
    const link = await rig.attachUdp(t, peer.port);
    const frames = framesOf([...times(8, JUMBO), JUMBO - 1, LARGEST_DATAGRAM, 1, LARGEST_DATAGRAM]);
    await dispatch(rig, link, peer, frames);
    t.same(peer.received, frames);
    await bring(rig, peer, link, frames);
    t.same(link.arrived, frames);
  });

  withRig('links over IPv6 carry frames as well', async (t, rig) => {
    const peer = await UdpPeer.open(t, '::1');
    const link = await rig.attachUdp(t, peer.port, '::1');
    const frames = framesOf([...times(20, 53), 7, 1500]);
    await dispatch(rig, link, peer, frames);
    await bring(rig, peer, link, frames);
    t.same(peer.received, frames);
    t.same(link.arrived, frames);
  });

  withRig('an empty datagram is counted and not handed over', async (t, rig) => {
    const peer = await UdpPeer.open(t);
    const link = await rig.attachUdp(t, peer.port);
    const [first = Buffer.of(), second = Buffer.of()] = framesOf([10, 20]);
    await peer.send(link.localPort, [Buffer.of(), first, Buffer.of(), Buffer.of(), second]);
    await rig.turnUntil('the last frame arrives', () => link.arrived.length === 2);
    t.same(link.arrived, [first, second]);
    t.same(rig.books.counters(link.row), { frames_in: 5, octets_in: 30, empty: 3 });
    t.equal(rig.books.unaccounted, 2, 'what was handed over is for a device to account for');
  });

  withRig('only the far end is heard', async (t, rig) => {
    const [peer, stranger] = [await UdpPeer.open(t), await UdpPeer.open(t)];
    const link = await rig.attachUdp(t, peer.port);
    await stranger.send(link.localPort, framesOf([5]));
    const frames = framesOf([9], 2);
    await bring(rig, peer, link, frames);
    t.same(link.arrived, frames);
  });

  withRig(
    'while the far end is missing frames are lost and counted, and later ones are not',
    async (t, rig) => {
      const port = await freePort();
      const link = await rig.attachUdp(t, port);
      for (let sends = 0; sends < 20; sends++) {
        rig.send(link, framesOf(times(sends % 3 === 0 ? 1 : 4, 53)));
        await rig.turn();
      }
      const lost = 7 + 13 * 4;
      const counted = (): number =>
        rig.books.counter(link.row, 'frames_out') + rig.books.counter(link.row, 'send_failed');
      const sent = 7 * 1 + 13 * 4;
      await rig.turnUntil('all are counted', () => counted() === sent);
      t.equal(counted(), lost);

      const peer = await UdpPeer.open(t, '127.0.0.1', port);
      await rig.turn();
      const frames = framesOf([...times(30, 53), 60]);
      await dispatch(rig, link, peer, frames);
      t.same(peer.received, frames);
      await bring(rig, peer, link, frames);
      t.same(link.arrived, frames);
    },
  );

  withRig('what is removed is silent, and its endpoint can be used again', async (t, rig) => {
    const peer = await UdpPeer.open(t);
    const other = await UdpPeer.open(t);
    const [link, witness] = [await rig.attachUdp(t, peer.port), await rig.attachUdp(t, other.port)];
    await bring(rig, peer, link, framesOf([1, 2, 3]));
    rig.transport.remove(link.link);
    await peer.send(link.localPort, framesOf([4]));
    await bring(rig, other, witness, framesOf([5]));
    await bring(rig, other, witness, framesOf([6]));
    t.equal(link.arrived.length, 3);
    await rig.attachAgain(link);
    const frames = framesOf([7, 8, 9]);
    await peer.send(link.localPort, frames);
    await rig.turnUntil('the last arrives', () => link.arrived.at(-1)?.length === 9);
    t.same(link.arrived.slice(-3), frames);
    await dispatch(rig, link, peer, frames);
    t.same(peer.received, frames);
  });

  withRig('what waits at a link that is removed is not counted as come in', async (t, rig) => {
    const peer = await UdpPeer.open(t);
    const link = await rig.attachUdp(t, peer.port);
    await peer.send(link.localPort, framesOf(times(50, 60)));
    // Where arrivals are events, they happen here.
    for (let ticks = 0; ticks < 10; ticks++) await new Promise((resolve) => setImmediate(resolve));
    rig.transport.remove(link.link);
    await rig.turn();
    t.equal(rig.books.counter(link.row, 'frames_in'), link.arrived.length);
    t.equal(rig.books.counter(link.row, 'octets_in'), octetsOf(link.arrived));
  });

  withRig('the bell ends a wait, and rings again until all is done', async (t, rig) => {
    let calls = 0;
    rig.onBell = () => ++calls % 3 === 0;
    const first = rig.transport.turn();
    // A turn that returns a promise waits; one that does not has waited its time.
    rig.bell.ring();
    await first;
    if (calls === 0) await rig.transport.turn();
    t.equal(calls, 1);
    await rig.transport.turn();
    await rig.transport.turn();
    t.equal(calls, 3, 'it rang again by itself');

    const peer = await UdpPeer.open(t);
    const link = await rig.attachUdp(t, peer.port);
    await peer.send(link.localPort, framesOf([10]));
    while (link.arrived.length === 0) await rig.transport.turn();
    t.equal(calls, 3, 'and no more when all was done');
    rig.bell.ring();
    rig.bell.ring();
    await rig.transport.turn();
    t.equal(calls, 4, 'two rings before a turn are one');
  });

  withRig('what goes nowhere is counted as sent', async (t, rig) => {
    const nowhere = await rig.attach(rig.open(t, { type: 'null' }));
    rig.send(nowhere, framesOf([10, 20, 30]));
    t.same(rig.books.counters(nowhere.row), { frames_out: 3, octets_out: 60 });
    rig.transport.drain(nowhere.link);
    rig.transport.remove(nowhere.link);
    await rig.turn();
    t.same(nowhere.arrived, []);
  });

  withRig('draining hands over what waits, in order, without a turn', async (t, rig) => {
    const peer = await UdpPeer.open(t);
    const link = await rig.attachUdp(t, peer.port);
    const frames = framesOf(times(48, 300));
    await peer.send(link.localPort, frames);
    for (let tries = 0; tries < 1000 && link.arrived.length < frames.length; tries++) {
      rig.transport.drain(link.link);
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.same(link.arrived, frames);
    await bring(rig, peer, link, framesOf([1, 2]));
    t.equal(link.arrived.length, 50, 'and turns go on from there');
  });

  withRig('draining ends even when every frame that is handed over comes back', async (t, rig) => {
    const [left, right] = await rig.cable(t);
    left.onArrive = (frames) => {
      right.link.send(right.port, frames);
    };
    rig.send(right, framesOf(times(20, 60)));
    for (let drains = 0; drains < 5; drains++) {
      rig.transport.drain(left.link);
      await rig.turn();
    }
    t.ok(left.arrived.length > 0);
    left.onArrive = () => undefined;
  });

  withRig('whatever passes, every frame is accounted for', async (t, rig) => {
    const seed = testSeed(2102);
    t.comment(`seed ${seed}`);
    const random = new Random(seed);
    const bytes = new RandomBytes(seed);
    const peers = [await UdpPeer.open(t), await UdpPeer.open(t), await UdpPeer.open(t)];
    const links: Attached[] = [];
    for (const peer of peers) links.push(await rig.attachUdp(t, peer.port));
    // A far end that is not there, too.
    links.push(await rig.attachUdp(t, await freePort()));
    let [dropped, handedOver] = [0, 0];
    for (const link of links) {
      link.onArrive = (frames) => {
        handedOver += frames.count;
        if (random.chance(0.2)) {
          dropped += frames.count;
          return;
        }
        const to = random.pick(links);
        to.link.send(to.port, frames);
      };
    }
    let brought = 0;
    for (let round = 0; round < 60; round++) {
      const from = random.below(peers.length);
      const lengths = Array.from({ length: 1 + random.below(20) }, () =>
        random.chance(0.1) ? 0 : 53 + (random.chance(0.3) ? random.below(1400) : 0),
      );
      const frames = lengths.map((length) => bytes.next(length));
      brought += frames.length;
      await peers[from]?.send(links[from]?.localPort ?? 0, frames);
      await rig.turn();
    }
    const sum = (name: Parameters<typeof rig.books.total>[0]): number => rig.books.total(name);
    await rig.turnUntil('all came in', () => sum('frames_in') === brought);
    await rig.turnUntil('nothing is on its way', () => rig.books.unaccounted === dropped);
    t.equal(sum('frames_in') - sum('empty'), handedOver);
    t.ok(sum('frames_out') > 0 && sum('empty') > 0 && sum('octets_out') > 0);
    const there = links.slice(0, 3).reduce((all, { row }) => all + rig.books.counter(row, 'frames_out'), 0);
    for (const [index, peer] of peers.entries()) {
      await peer.receive(rig.books.counter(links[index]?.row ?? 0, 'frames_out'));
    }
    t.equal(
      peers.reduce((all, { received }) => all + received.length, 0),
      there,
      'what is counted as sent to someone has come to them',
    );
  });
}
