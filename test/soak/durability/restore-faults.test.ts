/** The server is killed before operations on the disk that restoring a project takes, or one node of it. */
import t from 'tap';
import { FaultLab } from '../../support/fault-lab.js';
import { faultSeries, WHOLE_BELOW } from '../../support/fault-series.js';
import { testSeed } from '../../support/random.js';
import { restoring } from '../../support/snapshot-series.js';

const LIMITS = { seed: testSeed(63), most: 20, wholeBelow: WHOLE_BELOW };
const modes = ['before'] as const;
const lab = await FaultLab.make(t);

void t.test('a restore', async (t) => {
  await faultSeries(t, lab, { modes, ...(await restoring(lab, (id) => lab.restore(id))) }, LIMITS);
});

void t.test('a restore of one node', async (t) => {
  await faultSeries(t, lab, { modes, ...(await restoring(lab, (id) => lab.restoreNode(id))) }, LIMITS);
});
