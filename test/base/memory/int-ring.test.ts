import { Worker } from 'node:worker_threads';
import t from 'tap';
import { IntRing, newIntRing } from '../../../src/base/memory/int-ring.js';
import { seededRandom } from '../../support/seeded-random.js';

const RING_WORKER = new URL('../../support/ring-worker.js', import.meta.url);

type Words = [first: number, second: number, third: number];

function pullOne(ring: IntRing): Words | undefined {
  let found: Words | undefined;
  const isThere = ring.pull((...words) => {
    found = words;
  });
  if (isThere !== (found !== undefined)) throw new Error('what it answers is not what it did');
  return found;
}

void t.test('records come out whole, in the order they went in', (t) => {
  const plan = newIntRing(4);
  const [writer, reader] = [new IntRing(plan), new IntRing(plan)];
  t.equal(pullOne(reader), undefined, 'there is none at first');
  const extremes: Words[] = [
    [0, 0, 0],
    [-1, 2 ** 31 - 1, -(2 ** 31)],
    [1, 2, 3],
  ];
  for (const words of extremes) writer.push(...words);
  for (const words of extremes) t.same(pullOne(reader), words);
  t.equal(pullOne(reader), undefined);
  t.end();
});

void t.test('a ring has room for as many records as it was made for, and throws when it is full', (t) => {
  const plan = newIntRing(4);
  const [writer, reader] = [new IntRing(plan), new IntRing(plan)];
  for (let number = 0; number < 4; number++) writer.push(number, 0, 0);
  t.throws(() => {
    writer.push(4, 0, 0);
  }, RangeError);
  t.same(pullOne(reader), [0, 0, 0], 'and nothing is lost');
  writer.push(4, 0, 0);
  for (let number = 1; number <= 4; number++) t.same(pullOne(reader), [number, 0, 0]);
  t.throws(() => new IntRing(newIntRing(6)), RangeError, 'only powers of two go round evenly');
  t.end();
});

void t.test('its positions may overflow', (t) => {
  const plan = newIntRing(4);
  const words = new Int32Array(plan.buffer);
  words.fill(2 ** 31 - 2, 0, 2);
  const ring = new IntRing(plan);
  for (let number = 0; number < 4; number++) ring.push(number, number, number);
  t.throws(() => {
    ring.push(4, 4, 4);
  }, RangeError);
  for (let number = 0; number < 4; number++) t.same(pullOne(ring), [number, number, number]);
  t.equal(pullOne(ring), undefined);
  t.ok((words[0] ?? 0) < 0, 'it went round');
  t.end();
});

void t.test('a record that is put in while one is used is there for the next', (t) => {
  const ring = new IntRing(newIntRing(1));
  ring.push(1, 1, 1);
  // The place of a record is free before it is used.
  t.ok(
    ring.pull(() => {
      ring.push(2, 2, 2);
    }),
  );
  t.same(pullOne(ring), [2, 2, 2]);
  t.end();
});

void t.test('two threads lose none and see none half', async (t) => {
  const plan = newIntRing(256);
  const count = 100_000;
  const worker = new Worker(RING_WORKER, { workerData: { plan, count, seed: 5 } });
  t.teardown(() => worker.terminate());
  const random = seededRandom(5);
  const reader = new IntRing(plan);
  let seen = 0;
  let wrong = 0;
  const check = (first: number, second: number, third: number): void => {
    const expected = Math.floor(random() * 2 ** 31);
    if (first !== seen || second !== expected || third !== (first ^ second)) wrong++;
    seen++;
  };
  while (seen < count) {
    while (reader.pull(check)) continue;
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.equal(wrong, 0);
  t.notOk(reader.pull(check));
});
