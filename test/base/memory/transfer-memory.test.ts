import t from 'tap';
import { IntRing } from '../../../src/base/memory/int-ring.js';
import {
  newLoopRings,
  newSlabs,
  PAGE_LENGTH,
  SLAB_LENGTH,
  SLABS,
  slabView,
} from '../../../src/base/memory/transfer-memory.js';

void t.test('slabs lie side by side in their memory', (t) => {
  const memory = new Uint8Array(newSlabs());
  t.equal(memory.length, SLABS * SLAB_LENGTH + PAGE_LENGTH, 'with room to begin at a page');
  slabView(memory, 0).fill(1);
  slabView(memory, 1).fill(2);
  slabView(memory, 2, 3, 5).fill(3);
  t.equal(memory[SLAB_LENGTH - 1], 1);
  t.equal(memory[SLAB_LENGTH], 2);
  t.equal(memory[2 * SLAB_LENGTH - 1], 2);
  t.same([...memory.subarray(2 * SLAB_LENGTH, 2 * SLAB_LENGTH + 7)], [0, 0, 0, 3, 3, 0, 0]);
  const last = slabView(memory, SLABS - 1);
  t.equal(last.byteOffset + last.length, memory.length - PAGE_LENGTH);
  t.end();
});

void t.test('a ring has room for every slab there is', (t) => {
  const { filled, done, told } = newLoopRings();
  for (const plan of [filled, done]) {
    const ring = new IntRing(plan);
    for (let slab = 0; slab < SLABS; slab++) ring.push(0, slab, SLAB_LENGTH);
    t.throws(() => {
      ring.push(0, 0, 0);
    });
  }
  t.equal(told.byteLength, Int32Array.BYTES_PER_ELEMENT);
  t.end();
});
