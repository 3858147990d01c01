import t from 'tap';
import { FreeList } from '../../../src/base/memory/free-list.js';
import { Random, testSeed } from '../../support/random.js';

void t.test('numbers are given from 0 up to the limit, and then none', (t) => {
  const list = new FreeList(3);
  t.same([list.take(), list.take(), list.take()], [0, 1, 2]);
  t.equal(list.take(), undefined);
  t.equal(new FreeList(0).take(), undefined);
  t.end();
});

void t.test('numbers that were given back are given out again, the last first', (t) => {
  const list = new FreeList(4);
  for (let taken = 0; taken < 3; taken++) list.take();
  list.giveBack(0);
  list.giveBack(2);
  t.same([list.take(), list.take(), list.take(), list.take()], [2, 0, 3, undefined]);
  t.end();
});

void t.test('no number ever has two holders, whatever is taken and given back', (t) => {
  const seed = testSeed(1101);
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const LIMIT = 50;
  const list = new FreeList(LIMIT);
  const held: number[] = [];
  let refusals = 0;
  for (let step = 0; step < 5000; step++) {
    if (random.chance(0.55)) {
      const number = list.take();
      if (number === undefined) {
        refusals++;
        if (held.length !== LIMIT) t.fail(`refused with ${held.length} held`);
        continue;
      }
      if (held.includes(number) || number < 0 || number >= LIMIT) t.fail(`${number} was given wrongly`);
      held.push(number);
    } else {
      const [number] = held.splice(random.below(held.length), 1);
      if (number !== undefined) list.giveBack(number);
    }
  }
  t.ok(refusals > 0, 'all were taken at times');
  t.end();
});
