/** Tests of the writers of files while faults strike: a part of them. */
import t from 'tap';
import { faultSeries, shuffled, WHOLE_BELOW } from './fault-series.js';
import { Random, testSeed } from './random.js';
import { WriterLab } from './writer-lab.js';
import { writers } from './writer-series.js';

const LIMITS = { seed: testSeed(71), most: 24, wholeBelow: WHOLE_BELOW };

/** Tries the writers with the numbers `part`, `part + parts` and so on. */
export async function testWriterFaults(part: number, parts: number): Promise<void> {
  const lab = await WriterLab.make(t);
  const chosen = shuffled(Object.entries(writers(lab)), new Random(testSeed(71)));
  for (const [what, series] of chosen.filter((_, index) => index % parts === part)) {
    void t.test(`faults and ${what}`, async (t) => {
      await faultSeries(t, lab, series, LIMITS);
    });
  }
}
