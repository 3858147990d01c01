import t from 'tap';
import {
  AT_ONCE,
  NEVER,
  Reordering,
  SerialLine,
  WanderingDelay,
} from '../../../src/engine/filters/delays.js';
import { RandomStream } from '../../../src/engine/filters/random-stream.js';
import { upTo } from '../../support/live-engine.js';
import { Random } from '../../support/random.js';

/** The delays of frames that come at these times. */
function delays(latencyMs: number, jitterMs: number, times: readonly number[], seed = 1): number[] {
  const delay = new WanderingDelay(latencyMs, jitterMs, new RandomStream(seed, 7));
  return times.map((now) => delay.dueAt(60, now) - now);
}

const every = (gap: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => 1000 + i * gap);
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const close = (value: number, expected: number, tolerance: number): boolean =>
  Math.abs(value - expected) < tolerance;

void t.test('a line takes as long as its rate says, one frame after the other', (t) => {
  // 64 kbit/s is 8 bytes per millisecond.
  const line = new SerialLine(64, 100);
  t.equal(line.dueAt(800, 1000, -Infinity), 1100);
  t.equal(line.dueAt(8, 1000, 1100), 1101, 'behind the one before');
  t.equal(line.dueAt(8, 5000, 1101), 5001, 'what was not used is gone');
  t.end();
});

void t.test('frames that would wait longer than the limit are dropped', (t) => {
  const line = new SerialLine(64, 100);
  t.equal(line.dueAt(8, 1000, 1100), 1101);
  t.equal(line.dueAt(8, 1000, 1100.01), NEVER);
  t.end();
});

void t.test('the share of frames that is asked for is held', (t) => {
  const reordering = new Reordering(10, 25, new RandomStream(1, 1));
  const times = upTo(10_000).map((now) => reordering.dueAt(60, now));
  const held = times.flatMap((dueAt, now) => (dueAt === AT_ONCE ? [] : [dueAt - now]));
  t.ok(Math.abs(held.length - 1000) < 4 * 30, `${held.length}`);
  t.same([...new Set(held)], [25]);
  t.end();
});

void t.test('without jitter the delay is the latency', (t) => {
  t.ok(delays(100, 0, every(0.1, 1000)).every((delay) => close(delay, 100, 1e-9)));
  t.end();
});

void t.test(
  'at any rate of frames the delay lies around the latency, within the jitter, and does not drift',
  (t) => {
    for (const gap of [0.2, 1, 30, 70, 1000]) {
      const found = delays(100, 20, every(gap, Math.max(10_000, 200_000 / gap)), 3);
      t.ok(found.every((delay) => delay >= 80 && delay <= 120));
      t.ok(close(mean(found), 100, 1), `a frame every ${gap} ms: the mean is ${mean(found)}`);
      t.ok(found.some((delay) => delay < 85) && found.some((delay) => delay > 115), 'and uses its room');
    }
    t.end();
  },
);

void t.test('a later frame is never due earlier', (t) => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = new Random(seed);
    const [latency, jitter] = [random.below(60), 1 + random.below(40)];
    const times = [1000];
    for (let frame = 0; frame < 2000; frame++) {
      // From floods to silences that last longer than a segment.
      times.push(
        (times.at(-1) ?? 0) + random.pick([0, 0.001, 0.5, jitter, 3.9 * jitter, 4 * jitter, 9 * jitter]),
      );
    }
    const dueTimes = delays(latency, jitter, times, seed).map((delay, index) => delay + (times[index] ?? 0));
    const earlier = dueTimes.findIndex((dueAt, index) => dueAt < (dueTimes[index - 1] ?? 0) - 1e-9);
    if (earlier >= 0) t.fail(`seed ${seed}: frame ${earlier}`);
  }
  t.pass();
  t.end();
});

void t.test('after a silence the delay begins anew: frames far apart have unrelated delays', (t) => {
  const found = delays(100, 10, every(100, 20_000));
  const tenths = new Array<number>(10).fill(0);
  for (const delay of found) {
    const tenth = Math.floor((delay - 90) / 2);
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  for (const count of tenths) t.ok(close(count, 2000, 250), `${count}`);
  const products = found.slice(1).map((delay, index) => (delay - 100) * ((found[index] ?? 100) - 100));
  t.ok(close(mean(products), 0, 1), `${mean(products)}`);
  t.end();
});

void t.test('no delay is negative', (t) => {
  const found = delays(5, 50, every(1, 10_000));
  t.equal(Math.min(...found), 0);
  t.ok(Math.max(...found) > 40);
  t.end();
});
