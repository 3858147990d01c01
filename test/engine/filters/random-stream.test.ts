import t from 'tap';
import { RandomStream } from '../../../src/engine/filters/random-stream.js';

const DRAWS = 100_000;

const drawn = (seed: number, purpose: number, count = 20): number[] => {
  const random = new RandomStream(seed, purpose);
  return Array.from({ length: count }, () => random.next());
};

void t.test('equal seeds and purposes draw the same, others do not', (t) => {
  t.same(drawn(7, 1), drawn(7, 1));
  const all = [0, 1, 2, 7, 8, 2 ** 31, 2 ** 32 - 1].flatMap((seed) =>
    [0, 1, 2, 7].map((purpose) => drawn(seed, purpose, 1)),
  );
  t.equal(new Set(all.flat()).size, all.length);
  t.end();
});

void t.test('numbers lie evenly from 0 to below 1', (t) => {
  const tenths = new Array<number>(10).fill(0);
  for (const number of drawn(3, 4, DRAWS)) {
    const tenth = Math.floor(number * 10);
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  t.equal(tenths.length, 10, 'none lies outside');
  for (const count of tenths) t.ok(Math.abs(count - DRAWS / 10) < 500, `${count}`);
  t.end();
});

void t.test('whole numbers lie below their limit', (t) => {
  const random = new RandomStream(1, 1);
  const found = new Set(Array.from({ length: 1000 }, () => random.below(7)));
  t.same([...found].sort(), [0, 1, 2, 3, 4, 5, 6]);
  t.end();
});

void t.test('0 percent is never, 100 percent is always, 1 and 99 are neither', (t) => {
  const random = new RandomStream(5, 6);
  const times = (percent: number): number => {
    let count = 0;
    for (let draw = 0; draw < DRAWS; draw++) if (random.chance(percent)) count++;
    return count;
  };
  t.same([times(0), times(100)], [0, DRAWS]);
  for (const percent of [1, 50, 99]) {
    const deviation = Math.abs(times(percent) - (DRAWS * percent) / 100);
    t.ok(deviation < 5 * Math.sqrt(DRAWS * 0.01 * percent * (1 - percent / 100)), `${percent}: ${deviation}`);
  }
  t.end();
});
