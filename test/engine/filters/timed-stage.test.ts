import t from 'tap';
import { TOGETHER_MS } from '../../../src/engine/filters/schedule.js';
import { FilterRig } from '../../support/filter-rig.js';
import { numbered, numbersOf, upTo } from '../../support/live-engine.js';

void t.test('frames are delayed by the latency, in order, and only a little early', (t) => {
  const rig = new FilterRig([{ type: 'delay', latencyMs: 100, jitterMs: 0 }]);
  const start = rig.now;
  for (const number of upTo(3000)) {
    rig.advance(start + number * 0.03);
    rig.pass(numbered(number, 1));
  }
  t.equal(rig.delivered.length, 0);
  t.equal(rig.waiting, 3000);
  rig.advance(start + 1000);
  for (const [index, { at }] of rig.delivered.entries()) {
    const error = at - (start + index * 0.03 + 100);
    if (error > 1e-9 || error < -TOGETHER_MS - 1e-9) t.fail(`frame ${index} is off by ${error} ms`);
  }
  t.ok(rig.batches.length < 1500, 'those that are close go together');
  t.same(numbersOf(rig.taken()), upTo(3000));
  t.same(rig.counters, {});
  t.end();
});

void t.test('a delay holds so many frames, and drops more', (t) => {
  const rig = new FilterRig([{ type: 'delay', latencyMs: 100, jitterMs: 0 }]);
  rig.pass(numbered(0, 20_000));
  t.same([rig.counters, rig.waiting], [{ delay_full: 20_000 - 16_384 }, 16_384]);
  rig.advance(rig.now + 100);
  t.same(numbersOf(rig.taken()), upTo(16_384));
  t.end();
});

void t.test('a line of some rate lets through what it can, evenly, and drops what is too much', (t) => {
  // 1000 kbit/s is 125 octets a millisecond; frames of 1250 octets come every 5 ms: twice as much as it can.
  const rig = new FilterRig([{ type: 'rate', kilobits: 1000, queueMs: 50 }]);
  const start = rig.now;
  for (const number of upTo(1000)) {
    rig.advance(start + number * 5);
    rig.pass(numbered(number, 1, 1250));
  }
  rig.advance(start + 10_000);
  const dropped = rig.count('rate_full');
  t.equal(rig.delivered.length + dropped, 1000);
  t.ok(Math.abs(dropped - 500) <= 6, `${dropped}`);
  const times = rig.delivered.map(({ at }) => at);
  t.ok(times.slice(1).every((at, index) => at - (times[index] ?? 0) > 10 - 2 * TOGETHER_MS));
  const numbers = numbersOf(rig.taken());
  t.same(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  const waits = times.map((at, index) => at - (start + (numbers[index] ?? 0) * 5));
  t.ok(Math.max(...waits) <= 60 + 1e-6, 'so long in the queue, and on the line');
  t.end();
});

void t.test('a line that is full of frames loses none of its rate', (t) => {
  // One octet a millisecond, and frames of one octet: the limit is the number of frames that can wait.
  const rig = new FilterRig([{ type: 'rate', kilobits: 8, queueMs: 30_000 }]);
  const start = rig.now;
  rig.pass(numbered(0, 5000, 4));
  for (let second = 1; second <= 20; second++) {
    rig.advance(start + second * 1000);
    rig.pass(numbered(0, 1000, 4));
  }
  t.equal(rig.delivered.length, 5000, 'four milliseconds each');
  t.end();
});

void t.test('a fast line costs no copies: what it would hold for a moment goes on', (t) => {
  const rig = new FilterRig([{ type: 'rate', kilobits: 10_000_000, queueMs: 10 }]);
  rig.pass(numbered(0, 100, 1000));
  t.same([rig.batches, rig.waiting], [[100], 0]);
  rig.pass(numbered(100, 100, 1000));
  t.equal(rig.batches.length, 2);
  t.ok(rig.waiting > 0, 'but not for ever');
  rig.now += 1;
  rig.pass(numbered(200, 1, 1000));
  rig.advance(rig.now + 1);
  t.same(numbersOf(rig.taken()), upTo(201), 'and what is due meanwhile is not overtaken');
  t.end();
});

void t.test('some frames are overtaken by those behind them, and all arrive', (t) => {
  const rig = new FilterRig([{ type: 'reorder', percent: 10, holdMs: 5 }], 2);
  const start = rig.now;
  for (const number of upTo(2000)) {
    rig.advance(start + number);
    rig.pass(numbered(number, 1));
  }
  rig.advance(start + 3000);
  const late = rig.delivered.filter(({ at, bytes }) => at - start > bytes.readUInt32BE() + 1);
  t.ok(Math.abs(late.length - 200) < 54, `${late.length}`);
  t.ok(late.every(({ at, bytes }) => Math.abs(at - start - bytes.readUInt32BE() - 5) < 0.2));
  const numbers = numbersOf(rig.taken());
  t.notSame(numbers, upTo(2000));
  t.same(
    numbers.sort((a, b) => a - b),
    upTo(2000),
  );
  t.same(rig.counters, {});
  t.end();
});
