/** A million mutated frames, by a seed of each run. */
import t from 'tap';
import { checkMutatedFrames } from '../../support/mutated-frames.js';
import { testSeed } from '../../support/random.js';

void t.test('any octets are read', (t) => {
  const seed = testSeed(Date.now());
  t.comment(`WIREFARM_TEST_SEED=${seed}`);
  t.equal(checkMutatedFrames(1_000_000, seed), 1_000_000);
  t.end();
});
