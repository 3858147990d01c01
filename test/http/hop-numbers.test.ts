import t from 'tap';
import { HopNumbers } from '../../src/http/forwarding/hop-numbers.js';
import { Random } from '../support/random.js';

const REMEMBERED = 32_768;

void t.test('each number counts once, in whichever order they come', (t) => {
  const random = new Random(11);
  const numbers = new HopNumbers();
  const taken = new Set<number>();
  let highest = 0;
  const wrong: string[] = [];
  for (let round = 0; round < 100_000; round++) {
    const ahead = random.chance(0.0005) ? random.below(2 * REMEMBERED) : random.below(3);
    const number = Math.max(0, highest + ahead - (random.chance(0.5) ? random.below(REMEMBERED + 10) : 0));
    const fault = numbers.take({ from: 'a', start: 1, number });
    const wanted = number <= highest - REMEMBERED ? 'hopOutdated' : taken.has(number) ? 'hopUsed' : undefined;
    if (fault !== wanted) wrong.push(`${number} of ${highest} was ${String(fault)}, not ${String(wanted)}`);
    taken.add(number);
    highest = Math.max(highest, number);
  }
  t.same(wrong, []);
  t.end();
});

void t.test('a server that starts again begins anew, and its former words count no more', (t) => {
  const numbers = new HopNumbers();
  const take = (start: number, number: number, from = 'a') => numbers.take({ from, start, number });
  t.equal(take(5, 100), undefined);
  t.equal(take(5, 7, 'b'), undefined, 'another server');
  t.equal(take(6, 0), undefined);
  t.equal(take(5, 101), 'hopOutdated');
  t.equal(take(6, 0), 'hopUsed');
  t.equal(take(6, Number.MAX_SAFE_INTEGER), undefined);
  t.equal(take(6, Number.MAX_SAFE_INTEGER), 'hopUsed');
  t.end();
});

void t.test('numbers that are forgotten do not count again', (t) => {
  const numbers = new HopNumbers();
  for (let start = 1; start <= 1100; start++)
    t.equal(numbers.take({ from: `server ${start}`, start, number: 3 }), undefined);
  for (let start = 1; start <= 1100; start++)
    t.match(numbers.take({ from: `server ${start}`, start, number: 3 }), /^hop(Used|Outdated)$/);
  t.end();
});
