/** The server is killed before operations on the disk that the making of a snapshot takes, and its removal. */
import t from 'tap';
import { FaultLab } from '../../support/fault-lab.js';
import { faultSeries, WHOLE_BELOW } from '../../support/fault-series.js';
import { testSeed } from '../../support/random.js';
import { making, removing } from '../../support/snapshot-series.js';

const LIMITS = { seed: testSeed(61), most: 20, wholeBelow: WHOLE_BELOW };
const modes = ['before'] as const;
const lab = await FaultLab.make(t);

void t.test('the making of a snapshot', async (t) => {
  await faultSeries(t, lab, { modes, ...(await making(lab)) }, LIMITS);
});

void t.test('the removal of a snapshot', async (t) => {
  await faultSeries(t, lab, { modes, ...removing(lab) }, LIMITS);
});
