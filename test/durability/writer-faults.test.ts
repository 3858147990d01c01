/** The server is killed, or the disk fails, at operations that each writer of files takes. */
import t from 'tap';
import { faultSeries } from '../support/fault-series.js';
import { testSeed } from '../support/random.js';
import { rounds } from '../support/rounds.js';
import { WriterLab } from '../support/writer-lab.js';
import { writers } from '../support/writer-series.js';

const LIMITS = { seed: testSeed(71), most: rounds(1, 5) };
const lab = await WriterLab.make(t);

for (const [what, series] of Object.entries(writers(lab))) {
  void t.test(`faults and ${what}`, async (t) => {
    await faultSeries(t, lab, series, LIMITS);
  });
}
