/** Claims and commits of several servers, in a thousand lives that follow from seeds. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import type { SimulationOrder, SimulationOutcome } from '../support/farm-simulation-worker.js';
import { testSeed } from '../support/random.js';
import type { FarmMistakes } from '../support/simulated-farm.js';

const RUNS = 1000;
const FIRST_SEED = testSeed(1);

async function simulate(order: Omit<SimulationOrder, 'firstSeed'>): Promise<SimulationOutcome> {
  const workerData: SimulationOrder = { ...order, firstSeed: FIRST_SEED };
  const worker = new Worker(new URL('../support/farm-simulation-worker.js', import.meta.url), { workerData });
  const [outcome] = (await once(worker, 'message')) as [SimulationOutcome];
  return outcome;
}

void t.test('a farm keeps its promises', async (t) => {
  const { broken, stored } = await simulate({ runs: RUNS, mistakes: {}, endsEarly: false });
  for (const { seed, promises } of broken) t.same(promises, [], `WIREFARM_TEST_SEED=${seed}`);
  t.ok(stored > 10 * RUNS, `${stored} changes were stored`);
});

void t.test('the checker finds mistakes', async (t) => {
  const planted: Record<string, FarmMistakes> = {
    'a fence that does not hold': { isUnfenced: true },
    'a follower that misses commits': { missedCommit: 40 },
    'changes that are acknowledged before they are stored': { isHasty: true },
    'a lab that was lost and stores by the next claim': { isUnbound: true },
    'an owner that answers without a look at the deadline': { isTrusting: true },
  };
  for (const [name, mistakes] of Object.entries(planted)) {
    const { broken, runs } = await simulate({ runs: RUNS, mistakes, endsEarly: true });
    t.ok(broken.length > 0, `${name}: after ${runs} runs`);
  }
});
