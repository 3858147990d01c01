/** The lines in which texts differ, against what they say when they are applied. */
import t from 'tap';
import { lineChanges } from '../../src/snapshots/line-changes.js';
import { testSeed } from '../support/random.js';
import { seededRandom } from '../support/seeded-random.js';

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

/** Applies the hunks to the earlier lines. */
function applied(before: readonly string[], after: string): string[] {
  const lines: string[] = [];
  let at = 0;
  for (const hunk of lineChanges(textOf(before), after).hunks) {
    while (at < hunk.before - 1) lines.push(before[at++] ?? '?');
    for (const line of hunk.lines) {
      if (!line.startsWith('+') && before[at] !== line.slice(1)) throw new Error(`line ${at} is not ${line}`);
      if (!line.startsWith('-')) lines.push(line.slice(1));
      if (!line.startsWith('+')) at++;
    }
  }
  return [...lines, ...before.slice(at)];
}

void t.test('hunks have three lines around each change, and numbers', (t) => {
  const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'];
  const after = ['a', 'b', 'c', 'd', 'E', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm'];
  t.same(lineChanges(textOf(before), textOf(after)), {
    added: 2,
    removed: 1,
    isCut: false,
    hunks: [
      { before: 2, after: 2, lines: [' b', ' c', ' d', '-e', '+E', ' f', ' g', ' h'] },
      { before: 10, after: 10, lines: [' j', ' k', ' l', '+m'] },
    ],
  });
  t.same(lineChanges('', 'x\n'), {
    added: 1,
    removed: 0,
    isCut: false,
    hunks: [{ before: 1, after: 1, lines: ['+x'] }],
  });
  t.same(lineChanges('x', 'x'), { added: 0, removed: 0, isCut: false, hunks: [] });
  t.end();
});

void t.test('any two texts become each other, by few lines', (t) => {
  const seed = testSeed(Date.now() % 1e9);
  t.comment(`WIREFARM_TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 300; round++) {
    const before = Array.from({ length: Math.floor(random() * 40) }, () => String(Math.floor(random() * 8)));
    const after = before.flatMap((line) => {
      const dice = random();
      return dice < 0.1 ? [] : dice < 0.2 ? ['new', line] : [line];
    });
    t.same(applied(before, textOf(after)), after);
  }
  t.end();
});

void t.test('long and different texts are cut, and take no time', (t) => {
  const lines = (word: string): string =>
    textOf(Array.from({ length: 100_000 }, (_, index) => `${word} ${index}`));
  const { added, removed, hunks, isCut } = lineChanges(lines('a'), lines('b'));
  t.same([added, removed, isCut], [100_000, 100_000, true]);
  t.equal(
    hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0),
    1000,
  );
  t.match(lineChanges('a\n', `${'x'.repeat(5000)}\n`), { isCut: true });
  t.end();
});
