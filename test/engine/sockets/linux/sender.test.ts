import t, { type Test } from 'tap';
import { BATCH_FRAMES, type Batch } from '../../../../src/engine/forwarding/port.js';
import type { OpenEndpoint } from '../../../../src/engine/forwarding/transport.js';
import { addressOf } from '../../../../src/engine/sockets/linux/native-memory.js';
import { Receiver } from '../../../../src/engine/sockets/linux/receiver.js';
import { Sender, type Outlet } from '../../../../src/engine/sockets/linux/sender.js';
import { lackForNamespaces, NetworkNamespace } from '../../../support/network-namespace.js';
import { RandomBytes } from '../../../support/random.js';
import { linuxSockets } from '../../../support/linux-sockets.js';
import { TransportRig } from '../../../support/transport-rig.js';
import { freePort } from '../../../support/udp-peer.js';

const HOST = '127.0.0.1';
const lack = lackForNamespaces();

/** A sender, and a receiver that tells in which messages frames have come. */
class Bench {
  readonly rig: TransportRig;
  readonly received: Buffer[] = [];
  readonly #sender: Sender;
  readonly #receiver: Receiver;

  constructor(t: Test) {
    this.rig = new TransportRig(t, linuxSockets);
    this.#sender = new Sender(addressOf(this.rig.memory.bytes));
    this.#receiver = new Receiver(this.rig.memory);
  }

  send(outlet: Outlet, frames: readonly Buffer[]): void {
    this.#sender.send(outlet, this.rig.books.newPort(1), this.rig.batchOf(frames));
    this.rig.memory.endTurn();
  }

  /** How many frames there were in each message that waits. */
  fetch({ descriptor }: OpenEndpoint): number[] {
    const messages: number[] = [];
    const fromLink = (frames: Batch): void => {
      this.received.push(...this.rig.bytesOf(frames));
    };
    for (;;) {
      // It is told that a message may fill a batch, so it takes one a call.
      const inlet = { descriptor, fromLink, port: this.rig.books.newPort(2), framesPerMessage: BATCH_FRAMES };
      const frames = Math.abs(this.#receiver.receive(inlet));
      if (frames === 0) return messages;
      messages.push(frames);
    }
  }
}

function open(t: Test, localPort: number, remotePort: number): OpenEndpoint {
  const { opener } = linuxSockets.sockets;
  const endpoint = opener.open({ type: 'udp', localHost: HOST, localPort, remoteHost: HOST, remotePort });
  if (endpoint.type !== 'udp') throw new TypeError('Linux endpoints are descriptors');
  t.teardown(() => {
    opener.close(endpoint);
  });
  return endpoint;
}

const outletOf = ({ descriptor }: OpenEndpoint): Outlet => ({ descriptor, largestSegment: Infinity });

type Run = readonly [count: number, length: number];

function framesOf(...runs: readonly Run[]): Buffer[] {
  const bytes = new RandomBytes(3);
  return runs.flatMap(([count, length]) => Array.from({ length: count }, () => bytes.next(length)));
}

void t.test('a run of equal frames and a shorter one travel as one message', async (t) => {
  const bench = new Bench(t);
  const [one, two] = [await freePort(), await freePort()];
  const [outlet, far] = [outletOf(open(t, one, two)), open(t, two, one)];
  const expectMessages = (runs: readonly Run[], messages: readonly number[], what: string): void => {
    const before = bench.received.length;
    const frames = framesOf(...runs);
    bench.send(outlet, frames);
    t.same(bench.fetch(far), messages, what);
    t.same(bench.received.slice(before), frames);
  };
  expectMessages([[1, 53]], [1], 'a single frame');
  expectMessages([[2, 53]], [2], 'two');
  expectMessages([[64, 53]], [64], 'as many as there can be');
  expectMessages([[65, 53]], [64, 1], 'one more');
  expectMessages([[256, 53]], [64, 64, 64, 64], 'a whole batch');
  expectMessages([[10, 53], [1, 20]], [11], 'a shorter one at the end'); // oxfmt-ignore
  expectMessages([[10, 53], [2, 20]], [11, 1], 'only one of them'); // oxfmt-ignore
  expectMessages([[3, 53], [1, 20], [3, 53]], [4, 3], 'a shorter one ends the run'); // oxfmt-ignore
  expectMessages([[3, 53], [4, 60]], [3, 4], 'a longer one begins another'); // oxfmt-ignore
  expectMessages([[1, 53], [1, 60], [1, 70]], [1, 1, 1], 'always longer ones'); // oxfmt-ignore
  expectMessages([[8, 9216]], [7, 1], 'as many octets as a datagram may have');
  expectMessages([[2, 40_000]], [1, 1], 'fewer frames than two');
  expectMessages([[1, 65_507], [1, 1]], [1, 1], 'the largest'); // oxfmt-ignore
  t.equal(outlet.largestSegment, Infinity);
  t.equal(bench.rig.books.counter(1, 'frames_out'), bench.received.length);
  t.equal(bench.rig.books.counter(1, 'octets_out'), Buffer.concat(bench.received).length);
});

void t.test('runs beyond the MTU of the route go out singly, others still as one', { skip: lack }, (t) => {
  const namespace = new NetworkNamespace(t);
  namespace.ip('link', 'set', 'lo', 'mtu', '1500', 'up');
  const bench = new Bench(t);
  const [near, far] = namespace.inside(() => [open(t, 1000, 2000), open(t, 2000, 1000)]);
  const outlet = outletOf(near);
  const sent: Buffer[] = [];
  const messagesOf = (...runs: readonly Run[]): number[] => {
    const frames = framesOf(...runs);
    sent.push(...frames);
    bench.send(outlet, frames);
    return bench.fetch(far);
  };
  t.same(messagesOf([5, 1400]), [5]);
  t.same(messagesOf([5, 1600]), [1, 1, 1, 1, 1]);
  t.equal(outlet.largestSegment, 1599, 'what was refused is not tried again');
  t.same(messagesOf([4, 1400], [3, 3000]), [4, 1, 1, 1]);
  t.same(
    messagesOf([3, 1500], [4, 1472]),
    [1, 1, 1, 1, 3],
    'what was not yet known to be too long is found out',
  );
  t.equal(outlet.largestSegment, 1499);
  t.same(bench.received, sent);
  t.equal(bench.rig.books.counter(1, 'frames_out'), sent.length);
  t.end();
});

void t.test('a refusal of earlier frames costs no later one, in a run or not', async (t) => {
  const bench = new Bench(t);
  const [one, two] = [await freePort(), await freePort()];
  const outlet = outletOf(open(t, one, two));
  let sent = 0;
  for (const frames of [framesOf([1, 53]), framesOf([64, 53]), framesOf([2, 53], [3, 60], [1, 9])]) {
    for (let refused = 0; refused < 3; refused++) {
      bench.send(outlet, frames);
      sent += frames.length;
    }
    // Now somebody is there; that nobody was has not been told yet.
    const far = open(t, two, one);
    bench.send(outlet, frames);
    sent += frames.length;
    bench.fetch(far);
    t.same(bench.received.splice(0), frames);
    linuxSockets.sockets.opener.close(far);
  }
  const { frames_out: out = 0, send_failed: failed = 0 } = bench.rig.books.counters(1);
  t.equal(out + failed, sent);
});

void t.test('frames to a closed descriptor are counted as failed, each', (t) => {
  const bench = new Bench(t);
  const frames = framesOf([3, 53], [2, 60], [1, 53]);
  bench.send({ descriptor: -1, largestSegment: Infinity }, frames);
  bench.send({ descriptor: -1, largestSegment: Infinity }, frames.slice(0, 1));
  t.same(bench.rig.books.counters(1), { send_failed: 7 });
  t.end();
});
