/** Operations on the disk that snapshots take fail: nothing is half done, and the next attempt succeeds. */
import t from 'tap';
import { FaultLab } from '../support/fault-lab.js';
import { faultSeries, WHOLE_BELOW } from '../support/fault-series.js';
import { testSeed } from '../support/random.js';
import { rounds } from '../support/rounds.js';
import { making, removing, restoring } from '../support/snapshot-series.js';

const LIMITS = { seed: testSeed(62), most: rounds(2, 48), wholeBelow: WHOLE_BELOW };
const modes = ['EIO', 'ENOSPC'] as const;
const lab = await FaultLab.make(t);

void t.test('the making of a snapshot', async (t) => {
  await faultSeries(t, lab, { modes, ...(await making(lab)) }, LIMITS);
});

void t.test('the removal of a snapshot', async (t) => {
  await faultSeries(t, lab, { modes, ...removing(lab) }, LIMITS);
});

void t.test('a restore', async (t) => {
  await faultSeries(t, lab, { modes, ...(await restoring(lab, (id) => lab.restore(id))) }, LIMITS);
});

void t.test('a restore of one node', async (t) => {
  await faultSeries(t, lab, { modes, ...(await restoring(lab, (id) => lab.restoreNode(id))) }, LIMITS);
});
