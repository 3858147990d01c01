/** A farm of real processes under load and faults: whatever it has told its clients is true afterwards. */
import t from 'tap';
import { soak } from '../../support/farm-soak/runner.js';
import { lackForFarm } from '../../support/farm-soak/farm.js';
import { testSeed } from '../../support/random.js';

const SEEDS = 2;
const skip = lackForFarm();
const first = testSeed(1);

for (let seed = first; seed < first + SEEDS; seed++)
  void t.test(`seed ${seed}: nothing that was acknowledged is missing`, { skip }, async (t) => {
    const result = await soak(t, seed, (line) => {
      t.comment(line);
    });
    t.same(result.findings, []);
    t.ok(result.acknowledged > 0 && result.events > 0 && result.reads > 0);
  });
