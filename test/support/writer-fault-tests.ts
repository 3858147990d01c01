/** Tests of the writers of files while faults strike: all of them, or a part. */
import t from 'tap';
import { faultSeries, shuffled, WHOLE_BELOW } from './fault-series.js';
import { Random, testSeed } from './random.js';
import { rounds } from './rounds.js';
import { WriterLab } from './writer-lab.js';
import { writers } from './writer-series.js';

/** How many of the writers are tried; another seed tries others. */
const WRITERS = rounds(5, Infinity);
const LIMITS = { seed: testSeed(71), most: rounds(1, 40), wholeBelow: WHOLE_BELOW };

/** Tries the writers with the numbers `part`, `part + parts` and so on. */
export async function testWriterFaults(part = 0, parts = 1): Promise<void> {
  const lab = await WriterLab.make(t);
  const chosen = shuffled(Object.entries(writers(lab)), new Random(testSeed(71))).slice(0, WRITERS);
  for (const [what, series] of chosen.filter((_, index) => index % parts === part)) {
    void t.test(`faults and ${what}`, async (t) => {
      await faultSeries(t, lab, series, LIMITS);
    });
  }
}
