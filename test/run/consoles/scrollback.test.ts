/** The end of the output of a node. */
import t from 'tap';
import { LONGEST_SCROLLBACK, Scrollback } from '../../../src/run/consoles/scrollback.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';

/** The bytes that a scrollback must hold, by the plainest rule. */
function expected(all: Buffer): Buffer {
  if (all.length <= LONGEST_SCROLLBACK) return all;
  const end = all.subarray(all.length - LONGEST_SCROLLBACK);
  return end.subarray(end.indexOf('\n') + 1);
}

void t.test('pieces of all sizes, looked at after each', (t) => {
  const seed = testSeed(41);
  const random = new Random(seed);
  const bytes = new RandomBytes(seed);
  for (let round = 0; round < 20; round++) {
    const scrollback = new Scrollback();
    let all = Buffer.alloc(0);
    for (let piece = 0; piece < 40; piece++) {
      const most = random.pick([1, 100, 3000, 40_000, LONGEST_SCROLLBACK, 3 * LONGEST_SCROLLBACK]);
      const added = bytes.next(random.below(most + 1));
      scrollback.add(added);
      all = Buffer.concat([all, added]);
      if (!expected(all).equals(scrollback.bytes)) t.fail(`seed ${seed}, round ${round}, piece ${piece}`);
      if (random.chance(0.05)) {
        scrollback.clear();
        all = Buffer.alloc(0);
      }
    }
  }
  t.pass();
  t.end();
});

void t.test('bytes are copied when they are added, and when they are given', (t) => {
  const scrollback = new Scrollback();
  const added = Buffer.from('one');
  scrollback.add(added);
  added.fill('x');
  scrollback.bytes.fill(0);
  t.equal(Buffer.from(scrollback.bytes).toString(), 'one');
  t.end();
});

void t.test('a line that is longer than the scrollback is shown as far as it is kept', (t) => {
  const scrollback = new Scrollback();
  scrollback.add(Buffer.alloc(LONGEST_SCROLLBACK + 10, 'a'));
  t.equal(scrollback.bytes.length, LONGEST_SCROLLBACK);
  scrollback.add(Buffer.from('\nb'));
  t.equal(Buffer.from(scrollback.bytes).toString(), 'b');
  t.end();
});
