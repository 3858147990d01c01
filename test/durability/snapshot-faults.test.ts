/** The server is killed before each operation on the disk that the making of a snapshot takes, and its removal. */
import t from 'tap';
import { FaultLab } from '../support/fault-lab.js';
import { faultSeries } from '../support/fault-series.js';
import { testSeed } from '../support/random.js';
import { making, removing } from '../support/snapshot-series.js';

t.setTimeout(118_000);
const LIMITS = { seed: testSeed(61), milliseconds: 20_000 };
const modes = ['before'] as const;
const lab = await FaultLab.make(t);

void t.test('the making of a snapshot', async (t) => {
  await faultSeries(t, lab, { modes, ...(await making(lab)) }, LIMITS);
});

void t.test('the removal of a snapshot', async (t) => {
  await faultSeries(t, lab, { modes, ...removing(lab) }, LIMITS);
});
