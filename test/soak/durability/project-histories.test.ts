/** The same as the short one, for long: other seeds see other orders. */
import t from 'tap';
import { playHistory } from '../../support/project-history.js';
import { testSeed } from '../../support/random.js';

const HISTORIES = 2;
for (let history = 0; history < HISTORIES; history++) {
  void t.test(`history ${history}`, async (t) => {
    await playHistory(t, { seed: testSeed(810) + history, lives: 8, actionsOfLife: 300 });
  });
}
