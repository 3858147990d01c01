import t from 'tap';
import { SLAB_LENGTH, SLABS } from '../../../src/base/memory/transfer-memory.js';
import { Slabs } from '../../../src/files/transfer/slabs.js';
import { Random, RandomBytes } from '../../support/random.js';

void t.test('slabs are given out once, the one given back last first', async (t) => {
  const slabs = new Slabs();
  const all = Array.from({ length: SLABS }, () => slabs.take());
  t.equal(new Set(all).size, SLABS);
  t.equal(slabs.take(), undefined);
  t.equal(slabs.taken, SLABS);
  const waiting = [slabs.next(), slabs.next()];
  slabs.giveBack(7);
  slabs.giveBack(3);
  t.same(await Promise.all(waiting), [7, 3], 'who has waited longest comes first');
  t.equal(slabs.taken, SLABS, 'they were passed on');
  slabs.giveBack(7);
  slabs.giveBack(3);
  t.equal(slabs.taken, SLABS - 2);
  t.equal(slabs.take(), 3);
  t.equal(await slabs.next(), 7);
  for (const slab of all) slabs.giveBack(slab ?? 0);
  t.equal(slabs.taken, 0);
});

void t.test('bytes are copied to where they belong, however either side is aligned', (t) => {
  const slabs = new Slabs();
  const random = new Random(9);
  const source = new RandomBytes(9).next(SLAB_LENGTH + 64);
  const whole = slabs.view(5, 0, SLAB_LENGTH);
  for (let round = 0; round < 300; round++) {
    const length = random.below(random.pick([8, 100, 5000, SLAB_LENGTH]));
    const from = random.below(64);
    const start = random.below(SLAB_LENGTH - length + 1);
    whole.fill(0);
    const bytes = source.subarray(from, from + length);
    slabs.fill(5, start, bytes);
    if (!bytes.equals(slabs.view(5, start, start + length))) t.fail(`${length} from ${from} to ${start}`);
    const around = whole.subarray(0, start).some(Boolean) || whole.subarray(start + length).some(Boolean);
    if (around) t.fail(`more than ${length} octets were written at ${start}`);
  }
  t.equal(slabs.view(4, 0, SLAB_LENGTH).some(Boolean), false, 'and nothing beside the slab');
  t.equal(slabs.view(6, 0, SLAB_LENGTH).some(Boolean), false);
  t.end();
});

void t.test('the first and the last slab can be filled to the last octet, and none beyond', (t) => {
  const slabs = new Slabs();
  const bytes = new RandomBytes(2).next(SLAB_LENGTH);
  for (const slab of [0, SLABS - 1]) {
    slabs.fill(slab, 0, bytes);
    t.ok(bytes.equals(slabs.view(slab, 0, SLAB_LENGTH)));
    t.throws(() => {
      slabs.fill(slab, 1, bytes);
    }, RangeError);
    t.throws(() => {
      slabs.fill(slab, SLAB_LENGTH, bytes.subarray(0, 1));
    }, RangeError);
  }
  slabs.fill(0, SLAB_LENGTH, new Uint8Array(0));
  t.ok(bytes.equals(slabs.view(0, 0, SLAB_LENGTH)));
  t.end();
});

void t.test('a part of a buffer is copied, not the buffer that it is of', (t) => {
  const slabs = new Slabs();
  const whole = new Uint8Array([1, 2, 3, 4, 5, 6]).buffer;
  slabs.fill(1, 10, new Uint8Array(whole, 2, 3));
  t.same([...slabs.view(1, 9, 15)], [0, 3, 4, 5, 0, 0]);
  t.end();
});

void t.test('a slab that is shared is free when all have given it back', (t) => {
  const slabs = new Slabs();
  const slab = slabs.take() ?? -1;
  slabs.share(slab);
  slabs.giveBack(slab);
  t.equal(slabs.taken, 1);
  slabs.giveBack(slab);
  t.equal(slabs.taken, 0);
  t.equal(slabs.take(), slab);
  t.end();
});
