/** The server is killed, or the disk fails, at operations that each writer of files takes. */
import t from 'tap';
import { faultSeries, shuffled } from '../support/fault-series.js';
import { Random, testSeed } from '../support/random.js';
import { rounds } from '../support/rounds.js';
import { WriterLab } from '../support/writer-lab.js';
import { writers } from '../support/writer-series.js';

/** Of the writers: some of them, and others with another seed. */
const WRITERS = rounds(5, Infinity);
const LIMITS = { seed: testSeed(71), most: rounds(1, 5) };
const lab = await WriterLab.make(t);

const all = Object.entries(writers(lab));
for (const [what, series] of shuffled(all, new Random(testSeed(71))).slice(0, WRITERS)) {
  void t.test(`faults and ${what}`, async (t) => {
    await faultSeries(t, lab, series, LIMITS);
  });
}
