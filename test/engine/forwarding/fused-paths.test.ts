import t from 'tap';
import { COUNTER, ROW_LENGTH } from '../../../src/base/memory/port-counters.js';
import { AttachedPort, type PortContext } from '../../../src/engine/forwarding/attached-port.js';
import { Batch, BATCH_FRAMES, Outbox, type Port } from '../../../src/engine/forwarding/port.js';
import { FrameMemory } from '../../../src/engine/forwarding/frame-memory.js';
import { FusedPaths } from '../../../src/engine/forwarding/fused-paths.js';
import { PortBooks } from '../../support/port-books.js';

const MOST_ROUNDS = 64;
const MOST_FLOODED = 256;
const MEMORY = 1024;

interface Arrival {
  readonly port: number;
  readonly lengths: readonly number[];
}

/** Paths between ports whose devices are what the test makes of them. */
class Bench {
  readonly outbox = new Outbox();
  readonly paths = new FusedPaths(this.outbox, new FrameMemory(new Uint8Array(MEMORY), 0));
  readonly books = new PortBooks(700);
  readonly arrivals: Arrival[] = [];
  onReceive: (port: Port, frames: Batch) => void = () => undefined;
  readonly #device: PortContext['device'] = {
    receive: (port, frames) => {
      this.arrivals.push({ port: port.number, lengths: [...frames.lengths.slice(0, frames.count)] });
      this.onReceive(port, frames);
    },
  };

  port(number: number, isSuspended = false): AttachedPort {
    const context = {
      number,
      device: this.#device,
      medium: 'ethernet',
      endpoint: { type: 'null' },
    };
    return new AttachedPort(context as AttachedPort['context'], this.books.values, number, isSuspended);
  }

  fuse(one: AttachedPort, two: AttachedPort): void {
    one.linkBy(this.paths.exitTo(two));
    two.linkBy(this.paths.exitTo(one));
  }

  /** As many frames of lengths that count up from `first`. */
  send(port: Port, count: number, first = 1): void {
    for (let frame = 0; frame < count; frame++) this.outbox.send(port, 0, first + frame);
  }
}

const upFrom = (first: number, count: number): number[] => Array.from({ length: count }, (_, i) => first + i);

void t.test('frames that leave at a port come in at its peer, in order, and are counted at both', (t) => {
  const bench = new Bench();
  const [one, two] = [bench.port(1), bench.port(2)];
  bench.fuse(one, two);
  bench.send(one, 3, 10);
  bench.send(two, 2, 20);
  bench.paths.deliverPending();
  t.same(bench.arrivals, [
    { port: 2, lengths: [10, 11, 12] },
    { port: 1, lengths: [20, 21] },
  ]);
  t.same(bench.books.counters(1), { frames_in: 2, octets_in: 41, frames_out: 3, octets_out: 33 });
  t.same(bench.books.counters(2), { frames_in: 3, octets_in: 33, frames_out: 2, octets_out: 41 });
  bench.paths.deliverPending();
  t.equal(bench.arrivals.length, 2, 'nothing comes twice');
  t.end();
});

void t.test('frames that a device sends on are carried in the same turn, round by round', (t) => {
  const bench = new Bench();
  const ports = upFrom(0, 6).map((number) => bench.port(number));
  const at = (number: number): AttachedPort => ports[number] ?? bench.port(number);
  // 0 to 1, on from 2 to 3, on from 4 to 5.
  for (const number of [0, 2, 4]) bench.fuse(at(number), at(number + 1));
  bench.onReceive = (port, { lengths, count }) => {
    if (port.number === 5) return;
    for (let frame = 0; frame < count; frame++) {
      bench.outbox.send(at(port.number + 1), 0, (lengths[frame] ?? 0) + 1);
    }
  };
  bench.send(at(0), 2, 100);
  bench.paths.deliverPending();
  t.same(bench.arrivals, [
    { port: 1, lengths: [100, 101] },
    { port: 3, lengths: [101, 102] },
    { port: 5, lengths: [102, 103] },
  ]);
  t.end();
});

void t.test('a peer takes one batch a round: what is more is counted where it left', (t) => {
  const bench = new Bench();
  const [from, to] = [bench.port(1), bench.port(2)];
  bench.fuse(from, to);
  // Two devices' ports that lead to one peer would do the same: here the exit is used twice in a round.
  const first = new Batch();
  for (const length of upFrom(1, 200)) first.add(0, length);
  from.exit.send(from, first);
  from.exit.send(from, first);
  bench.paths.deliverPending();
  t.same(bench.arrivals, [{ port: 2, lengths: [...upFrom(1, 200), ...upFrom(1, 56)] }]);
  const octets = (200 * 201) / 2 + (56 * 57) / 2;
  t.same(bench.books.counters(1), { frames_out: BATCH_FRAMES, octets_out: octets, queue_full: 144 });
  t.same(bench.books.counters(2), { frames_in: BATCH_FRAMES, octets_in: octets });
  t.end();
});

void t.test(
  'frames that two devices throw at each other for ever are dropped when they passed too often',
  (t) => {
    const bench = new Bench();
    const [one, two] = [bench.port(1), bench.port(2)];
    bench.fuse(one, two);
    bench.onReceive = (port, { count }) => {
      bench.send(port, count);
    };
    bench.send(one, 5);
    bench.paths.deliverPending();
    t.equal(bench.arrivals.length, MOST_ROUNDS);
    t.equal(bench.books.total('hop_limit'), 5);
    t.equal(bench.books.total('frames_in'), 5 * (MOST_ROUNDS + 1));
    t.equal(bench.books.total('frames_in'), bench.books.total('frames_out'));
    bench.arrivals.length = 0;
    bench.send(one, 1);
    bench.paths.deliverPending();
    t.equal(bench.arrivals.length, MOST_ROUNDS, 'the next turn has a limit of its own');
    t.end();
  },
);

void t.test('one turn carries so many frames at most, however many links there are', (t) => {
  const bench = new Bench();
  const LINKS = 300;
  const ends = upFrom(0, LINKS).map(
    (number) => [bench.port(2 * number), bench.port(2 * number + 1)] as const,
  );
  for (const [one, two] of ends) bench.fuse(one, two);
  for (const [one] of ends) bench.send(one, BATCH_FRAMES);
  bench.paths.deliverPending();
  const most = MOST_FLOODED * BATCH_FRAMES;
  const carried = bench.arrivals.reduce((sum, { lengths }) => sum + lengths.length, 0);
  t.equal(carried, most);
  t.equal(bench.books.total('hop_limit'), LINKS * BATCH_FRAMES - most);
  t.equal(bench.books.total('frames_in'), bench.books.total('frames_out'));
  t.end();
});

void t.test('a suspended peer counts and drops', (t) => {
  const bench = new Bench();
  const [one, two] = [bench.port(1), bench.port(2, true)];
  bench.fuse(one, two);
  bench.send(one, 4);
  bench.send(two, 3);
  bench.paths.deliverPending();
  t.same(bench.arrivals, []);
  t.equal(bench.books.counter(2, 'suspended'), 7);
  t.equal(bench.books.values[2 * ROW_LENGTH + COUNTER.frames_out], 0);
  t.end();
});
