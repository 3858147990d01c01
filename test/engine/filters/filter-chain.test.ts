import t from 'tap';
import type { FilterStage } from '../../../src/engine/filters/filter-plan.js';
import { FilterRig } from '../../support/filter-rig.js';
import { numbered, numbersOf, upTo } from '../../support/live-engine.js';
import { Random, testSeed } from '../../support/random.js';

const LOSS: FilterStage = { type: 'packet_loss', percent: 30 };
const DELAY: FilterStage = { type: 'delay', latencyMs: 20, jitterMs: 5 };
const REORDER: FilterStage = { type: 'reorder', percent: 30, holdMs: 7 };
const RATE: FilterStage = { type: 'rate', kilobits: 1000, queueMs: 400 };
const CORRUPT: FilterStage = { type: 'corrupt', percent: 20 };

function outcome(stages: readonly FilterStage[], seed: number): string[] {
  const rig = new FilterRig(stages, seed);
  rig.pass(numbered(0, 1000, 4));
  rig.advance(rig.now + 10_000);
  return rig.taken().map((frame) => frame.toString('hex'));
}

void t.test('equal seeds have equal outcomes, others do not', (t) => {
  const stages = [LOSS, CORRUPT, REORDER];
  t.same(outcome(stages, 1), outcome(stages, 1));
  t.notSame(outcome(stages, 1), outcome(stages, 2));
  t.end();
});

void t.test('stages work in their own order, and draw numbers of their own', (t) => {
  t.same(outcome([REORDER, CORRUPT, LOSS], 1), outcome([LOSS, CORRUPT, REORDER], 1));
  const first = outcome([LOSS], 1);
  t.same(outcome([DELAY, LOSS], 1), first, 'what is added behind changes nothing of what is lost');
  t.same([...outcome([REORDER, LOSS], 1)].sort(), [...first].sort());
  t.end();
});

void t.test('stages that hold frames add up', (t) => {
  const rig = new FilterRig([{ ...DELAY, jitterMs: 0 }, { ...REORDER, percent: 100 }, RATE]);
  const start = rig.now;
  // 2500 octets take the line 20 ms.
  rig.pass(numbered(0, 2, 2500));
  rig.advance(start + 1000);
  const times = rig.delivered.map(({ at }) => at - start);
  t.same(
    times.map((at) => Math.round(at)),
    [7 + 20 + 20, 7 + 40 + 20],
  );
  t.end();
});

void t.test('a flush delivers what waits, the foremost first, and leaves nothing behind', (t) => {
  const rig = new FilterRig([{ ...DELAY, jitterMs: 0 }, RATE]);
  const start = rig.now;
  // Ten milliseconds a frame on the line: some are behind it, and most in front.
  rig.pass(numbered(0, 20, 1250));
  rig.advance(start + 35);
  t.same(numbersOf(rig.taken()), [0]);
  rig.chain.flush();
  t.same(numbersOf(rig.taken()), upTo(20).slice(1));
  t.same([rig.waiting, rig.schedule.next, rig.counters], [0, Infinity, {}]);
  t.end();
});

void t.test('a drop counts what waits, wherever it does', (t) => {
  const rig = new FilterRig([DELAY, RATE, REORDER, { type: 'duplicate', percent: 100 }]);
  rig.pass(numbered(0, 200, 300));
  const { waiting } = rig;
  t.ok(waiting > 100);
  rig.chain.drop();
  t.equal(rig.count('held_back'), waiting);
  t.same([rig.waiting, rig.schedule.next], [0, Infinity]);
  t.end();
});

/** Any filters with any values, hardly any of which make sense together. */
function anyStages(random: Random): FilterStage[] {
  const stages: FilterStage[] = [
    { type: 'frequency_drop', every: random.pick([-1, 1, 2, 7, 100]) },
    { type: 'packet_loss', percent: random.below(101) },
    { type: 'corrupt', percent: random.below(101) },
    { type: 'duplicate', percent: random.below(101) },
    { type: 'reorder', percent: random.below(101), holdMs: random.below(40) },
    { type: 'rate', kilobits: 1 + random.below(100_000), queueMs: random.below(100) },
    { type: 'delay', latencyMs: random.below(50), jitterMs: random.below(50) },
    { type: 'bpf', programs: [{ instructions: Uint32Array.of(0x06, 0, 0, random.below(2)) }] },
  ];
  return stages.filter(({ type }) => random.chance(type === 'bpf' || type === 'frequency_drop' ? 0.1 : 0.4));
}

void t.test('any filters with any traffic: every frame is delivered, counted or waits', (t) => {
  const seed = testSeed(4001);
  for (let round = 0; round < 150; round++) {
    const random = new Random(seed + round);
    const stages = anyStages(random);
    const rig = new FilterRig(stages, round, random.chance(0.2) ? 20_000 : undefined);
    const story = `seed ${seed + round}: ${stages.map(({ type }) => type).join()}`;
    for (let step = 0; step < 60; step++) {
      rig.pass(numbered(step * 1000, random.below(random.chance(0.1) ? 1000 : 50), 4 + random.below(1500)));
      if (random.chance(0.7)) rig.advance(rig.now + random.below(20));
      if (rig.waiting < 0) t.fail(`${story}: frames were invented`);
    }
    const { waiting } = rig;
    const end = random.below(3);
    if (end === 0) rig.advance(rig.now + 1e7);
    else if (end === 1) rig.chain.flush();
    else rig.chain.drop();
    if (rig.waiting !== 0) t.fail(`${story}: ${rig.waiting} frames are missing`);
    if (rig.schedule.next !== Infinity) t.fail(`${story}: something is left in the schedule`);
    if (end === 2 && rig.count('held_back') !== waiting) t.fail(`${story}: ${waiting} were waiting`);
  }
  t.pass();
  t.end();
});

void t.test('filters that never reorder never do, together and at any load', (t) => {
  const seed = testSeed(5001);
  for (let round = 0; round < 60; round++) {
    const random = new Random(seed + round);
    const stages = anyStages(random).filter(({ type }) => !['reorder', 'corrupt'].includes(type));
    const rig = new FilterRig(stages, round);
    let sent = 0;
    for (let step = 0; step < 80; step++) {
      const count = random.below(200);
      rig.pass(numbered(sent, count, 4 + random.below(300)));
      sent += count;
      if (random.chance(0.5)) rig.advance(rig.now + random.below(300) / 10);
    }
    if (random.chance(0.5)) rig.chain.flush();
    else rig.advance(rig.now + 1e7);
    const numbers = numbersOf(rig.taken());
    const wrong = numbers.findIndex((number, index) => number < (numbers[index - 1] ?? 0));
    if (wrong >= 0)
      t.fail(`seed ${seed + round}: ${stages.map(({ type }) => type).join()} at frame ${wrong}`);
  }
  t.pass();
  t.end();
});
