/** Filters at the ports of an engine: both ways, on fused links, replaced while frames wait. */
import t from 'tap';
import type { FilterPlan, FilterStage } from '../../../src/engine/filters/filter-plan.js';
import { EngineRig, HUB } from '../../support/engine-rig.js';
import { numbered, numbersOf, upTo } from '../../support/live-engine.js';
import { Random, testSeed } from '../../support/random.js';

const MOST_TURNS = 100_000;

/** An engine whose clock only moves when it is told to. */
class SlowRig extends EngineRig {
  now: number;

  constructor() {
    super(() => this.now);
    this.now = 1000;
  }

  setPolicy(device: number, port: number, filters: Partial<FilterPlan> | undefined, suspended = false): void {
    const plan = filters && { seed: 1, outward: [], inward: [], ...filters };
    this.engine.perform({ do: 'setPolicy', device, port, policy: { suspended, filters: plan } });
  }

  /** Turns until nothing moves and nothing is due, a tenth of a millisecond at a time. */
  advance(milliseconds: number): void {
    const end = this.now + milliseconds;
    for (let turns = 0; this.now < end || !this.network.isQuiet; turns++) {
      if (turns === MOST_TURNS) throw new Error('it never comes to an end');
      this.now = Math.min(end, this.now + 0.1);
      void this.engine.turn();
    }
    // Frames that are due are done a thousand at a time.
    for (let turns = 0; turns < 100; turns++) void this.engine.turn();
  }
}

const delay = (latencyMs: number): FilterStage => ({ type: 'delay', latencyMs, jitterMs: 0 });
const TWICE: FilterStage = { type: 'duplicate', percent: 100 };
const twice = (numbers: readonly number[]): number[] => numbers.flatMap((number) => [number, number]);

/** A hub with two ports outside. */
function hub() {
  const rig = new SlowRig();
  rig.add(1, HUB);
  return { rig, near: rig.outside(1, 1), far: rig.outside(1, 2) };
}

/** Two hubs with one port outside each, and a fused link between them. */
function fusedHubs() {
  const rig = new SlowRig();
  rig.add(1, HUB);
  rig.add(2, HUB);
  const [left, right] = [rig.outside(1, 1), rig.outside(2, 1)];
  const [one, two] = rig.cable('link');
  const rows = [rig.attach(1, 2, one), rig.attach(2, 2, two)] as const;
  return { rig, left, right, rows };
}

void t.test('each way has filters of its own', (t) => {
  const { rig, near, far } = hub();
  rig.setPolicy(1, 2, {
    outward: [{ type: 'frequency_drop', every: 2 }],
    inward: [{ type: 'frequency_drop', every: 5 }],
  });
  rig.network.deliver(near.end, numbered(0, 100));
  rig.network.deliver(far.end, numbered(0, 100));
  rig.advance(0);
  t.equal(rig.network.taken(far.end).length, 50);
  t.equal(rig.network.taken(near.end).length, 80);
  t.equal(rig.books.counter(far.row, 'filter_frequency'), 70);
  t.same(rig.books.counters(near.row), {
    frames_in: 100,
    octets_in: 6000,
    frames_out: 80,
    octets_out: 4800,
  });
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('a port can be attached with filters', (t) => {
  const { rig, near } = hub();
  const end = rig.network.open('near-3', 'far-3');
  const filters = { seed: 1, outward: [{ type: 'packet_loss', percent: 100 } as const], inward: [] };
  const policy = { suspended: false, filters };
  rig.engine.perform({ do: 'attach', device: 1, attachment: { port: 3, row: 50, endpoint: end, policy } });
  rig.network.deliver(near.end, numbered(0, 10));
  rig.advance(0);
  t.equal(rig.network.taken(end).length, 0);
  t.equal(rig.books.counter(50, 'filter_loss'), 10);
  t.end();
});

void t.test('filters that cannot be made leave those that were there', (t) => {
  const { rig, near, far } = hub();
  rig.setPolicy(1, 2, { outward: [{ type: 'packet_loss', percent: 100 }] });
  const programs = [{ instructions: Uint32Array.of(0xffff, 0, 0, 0) }];
  t.throws(() => {
    rig.setPolicy(1, 2, { outward: [{ type: 'bpf', programs }] });
  }, RangeError);
  rig.network.deliver(near.end, numbered(0, 10));
  rig.advance(0);
  t.equal(rig.books.counter(far.row, 'filter_loss'), 10);
  t.end();
});

void t.test('frames wait in both directions at once, at hundreds of ports', (t) => {
  const rig = new SlowRig();
  const PAIRS = 200;
  const pairs = upTo(PAIRS).map((device) => {
    rig.add(device, HUB);
    const pair = { near: rig.outside(device, 1), far: rig.outside(device, 2) };
    rig.setPolicy(device, 2, { outward: [delay(5 + (device % 7))], inward: [delay(3)] });
    return pair;
  });
  for (const { near, far } of pairs) {
    rig.network.deliver(near.end, numbered(0, 20));
    rig.network.deliver(far.end, numbered(50, 20));
  }
  rig.advance(2.8);
  t.equal(rig.network.outside.size, 0);
  t.equal(rig.books.unaccounted, PAIRS * 40);
  rig.advance(0.5);
  t.ok(pairs.every(({ near }) => rig.network.taken(near.end).length === 20));
  rig.advance(9);
  t.ok(pairs.every(({ far }) => numbersOf(rig.network.taken(far.end)).join() === upTo(20).join()));
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('a burst that is due at several ports at once does not overflow what they lead to', (t) => {
  const rig = new SlowRig();
  rig.add(1, HUB);
  rig.add(2, HUB);
  const [one, two] = rig.cable('link');
  const ends = [1, 2, 3].map((port) => rig.outside(1, port).end);
  const outside = rig.outside(2, 1);
  rig.attach(1, 9, one);
  rig.attach(2, 9, two);
  for (const port of [1, 2, 3]) rig.setPolicy(1, port, { inward: [delay(10)] });
  rig.setPolicy(2, 9, { inward: [delay(10)], outward: [delay(10)] });
  for (const end of ends) rig.network.deliver(end, numbered(0, 1500));
  rig.advance(25);
  t.equal(rig.network.taken(outside.end).length, 4500);
  t.same(
    ends.map((end) => rig.network.taken(end).length),
    [3000, 3000, 3000],
  );
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('full batches are duplicated on a fused link without loss, in order', (t) => {
  const { rig, left, right, rows } = fusedHubs();
  rig.setPolicy(1, 2, { outward: [TWICE] });
  rig.setPolicy(2, 2, { inward: [TWICE] });
  rig.network.deliver(left.end, numbered(0, 1500));
  rig.advance(0);
  t.same(numbersOf(rig.network.taken(right.end)), twice(twice(upTo(1500))));
  t.same(
    rows.map((row) => rig.books.counter(row, 'copies')),
    [1500, 3000],
  );
  t.equal(rig.books.total('queue_full'), 0);
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('filters that are replaced lose nothing that waits, and keep the order', (t) => {
  const { rig, left, right } = fusedHubs();
  let sent = 0;
  const send = (count: number): void => {
    rig.network.deliver(left.end, numbered(sent, count));
    sent += count;
    rig.advance(1);
  };
  const random = new Random(71);
  for (let round = 0; round < 50; round++) {
    const plan = random.pick([
      undefined,
      { outward: [delay(random.below(500))] },
      { outward: [delay(random.below(5))], inward: [delay(random.below(9))] },
      { outward: [{ type: 'rate', kilobits: 1000, queueMs: 9999 } as const] },
    ]);
    rig.setPolicy(1 + random.below(2), 2, plan);
    send(random.below(600));
  }
  rig.setPolicy(1, 2, undefined);
  // Seen from here the other end is the way in.
  rig.setPolicy(2, 2, undefined);
  rig.advance(0);
  t.same(numbersOf(rig.network.taken(right.end)), upTo(sent));
  t.equal(rig.books.unaccounted, 0);
  send(5);
  t.equal(rig.network.taken(right.end).length, 5, 'and nothing is held any more');
  t.end();
});

void t.test('a port that is suspended or detached drops what waits, and counts it', (t) => {
  for (const end of ['suspend', 'detach', 'remove'] as const) {
    const { rig, near, far } = hub();
    rig.setPolicy(1, 2, { outward: [delay(10)], inward: [delay(10)] });
    rig.network.deliver(near.end, numbered(0, 70));
    rig.network.deliver(far.end, numbered(0, 30));
    rig.advance(1);
    t.equal(rig.books.unaccounted, 100);
    if (end === 'suspend') rig.setPolicy(1, 2, undefined, true);
    else if (end === 'detach') rig.detach(1, 2);
    else rig.remove(1);
    t.equal(rig.books.counter(far.row, 'held_back'), 100, end);
    rig.advance(20);
    t.equal(rig.network.outside.size, 0);
    t.equal(rig.books.unaccounted, 0);
  }
  t.end();
});

void t.test('a loop of links with a delay in it goes round at its pace, and can be ended', (t) => {
  const rig = new SlowRig();
  rig.add(1, HUB);
  const outside = rig.outside(1, 1);
  const [one, two] = rig.cable('loop');
  rig.attach(1, 2, one);
  rig.attach(1, 3, two);
  rig.setPolicy(1, 2, { outward: [delay(10)], inward: [delay(10)] });
  rig.network.deliver(outside.end, numbered(0, 1));
  rig.advance(105);
  t.equal(rig.network.taken(outside.end).length, 20, 'both ways, ten times each');
  rig.setPolicy(1, 2, undefined, true);
  rig.advance(50);
  t.same(rig.network.taken(outside.end), []);
  t.equal(rig.books.unaccounted, 0);
  t.end();
});

void t.test('frames that come back while filters are replaced pass the new ones', (t) => {
  const rig = new SlowRig();
  rig.add(1, HUB);
  const outside = rig.outside(1, 1);
  const [one, two] = rig.cable('loop');
  rig.attach(1, 2, one);
  rig.attach(1, 3, two);
  rig.setPolicy(1, 2, { outward: [delay(10)], inward: [delay(10)] });
  rig.network.deliver(outside.end, numbered(0, 1));
  rig.advance(1);
  t.equal(rig.books.unaccounted, 2, 'one goes round each way');
  const everything: FilterStage[] = [{ type: 'packet_loss', percent: 100 }];
  rig.setPolicy(1, 2, { outward: everything, inward: everything });
  t.equal(rig.books.unaccounted, 0, 'nothing waits any more');
  t.end();
});

function anyStages(random: Random): FilterStage[] {
  const stages: FilterStage[] = [
    { type: 'frequency_drop', every: 2 + random.below(9) },
    { type: 'packet_loss', percent: random.below(60) },
    { type: 'corrupt', percent: random.below(101) },
    { type: 'duplicate', percent: random.below(101) },
    { type: 'reorder', percent: random.below(101), holdMs: random.below(9) },
    { type: 'rate', kilobits: 100 + random.below(100_000), queueMs: random.below(20) },
    { type: 'delay', latencyMs: random.below(9), jitterMs: random.below(9) },
  ];
  return stages.filter(() => random.chance(0.3));
}

void t.test('every frame is accounted for, whatever is filtered, suspended, detached and attached', (t) => {
  const seed = testSeed(9001);
  for (let round = 0; round < 12; round++) {
    const random = new Random(seed + round);
    const { rig, left, right } = fusedHubs();
    const ports = [
      [1, 1],
      [1, 2],
      [2, 1],
      [2, 2],
    ] as const;
    for (let step = 0; step < 60; step++) {
      rig.network.deliver(left.end, numbered(0, random.below(300), 4 + random.below(1400)));
      rig.network.deliver(right.end, numbered(0, random.below(300), 4 + random.below(100)));
      const [device, port] = random.pick(ports);
      const plan = random.chance(0.3)
        ? undefined
        : { seed: step, outward: anyStages(random), inward: anyStages(random) };
      if (random.chance(0.5)) rig.setPolicy(device, port, plan, random.chance(0.1));
      rig.advance(random.below(4));
      if (rig.books.unaccounted < 0) t.fail(`seed ${seed + round}: frames were invented in step ${step}`);
    }
    if (random.chance(0.5)) for (const [device, port] of ports) rig.setPolicy(device, port, undefined);
    else for (const [device, port] of ports) rig.detach(device, port);
    rig.advance(20);
    if (rig.books.unaccounted !== 0) t.fail(`seed ${seed + round}: ${rig.books.unaccounted} are missing`);
  }
  t.pass();
  t.end();
});
