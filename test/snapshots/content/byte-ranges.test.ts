import t from 'tap';
import { ByteRanges } from '../../../src/snapshots/content/byte-ranges.js';
import { Random, testSeed } from '../../support/random.js';

const SIZE = 60;

void t.test('a set of ranges, in any order of construction', (t) => {
  const random = new Random(testSeed(3));
  for (let run = 0; run < 300; run++) {
    const given = Array.from({ length: random.below(8) }, () => {
      const start = random.below(SIZE);
      return { start, end: start + 1 + random.below(SIZE - start) };
    });
    const has = Array.from({ length: SIZE }, (_, at) =>
      given.some(({ start, end }) => start <= at && at < end),
    );
    const ranges = new ByteRanges(given);
    t.equal(ranges.length, has.filter(Boolean).length);
    t.equal(ranges.end, has.lastIndexOf(true) + 1);
    const end = 1 + random.below(SIZE);
    const gaps = has.map(() => false);
    for (const gap of ranges.gaps(end)) gaps.fill(true, gap.start, gap.end);
    t.same(
      gaps,
      has.map((isIn, at) => !isIn && at < end),
    );
    for (let start = 0; start < SIZE; start += 7) {
      for (let stop = start + 1; stop <= SIZE; stop += 5) {
        if (ranges.covers(start, stop) !== has.slice(start, stop).every(Boolean))
          t.fail(`${start} to ${stop}`);
      }
    }
  }
  t.end();
});
