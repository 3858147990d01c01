/** Thread entry for tests of rings: puts in records that the reader can tell apart, as fast as there is room. */
import { workerData } from 'node:worker_threads';
import { IntRing, type IntRingPlan } from '../../src/base/memory/int-ring.js';
import { seededRandom } from './seeded-random.js';

interface RingWork {
  readonly plan: IntRingPlan;
  readonly count: number;
  readonly seed: number;
}

const { plan, count, seed } = workerData as RingWork;
const ring = new IntRing(plan);
const random = seededRandom(seed);

function put(first: number, second: number): void {
  for (;;) {
    try {
      ring.push(first, second, first ^ second);
      return;
    } catch {
      // Its reader has not come to them yet.
    }
  }
}

for (let number = 0; number < count; number++) put(number, Math.floor(random() * 2 ** 31));
