/** Many clients, few projects, and a server that is killed: everything that was answered can have happened. */
import t from 'tap';
import { playHistory, possibleStates } from '../../support/project-history.js';
import { testSeed } from '../../support/random.js';

const HISTORIES = 2;

void t.test('the model finds what cannot have happened', (t) => {
  const created = { action: 'create', begun: 0, ended: 3, answer: { status: 201 } } as const;
  const deleted = { action: 'delete', begun: 1, ended: 2, answer: { status: 204 } } as const;
  const counted = { action: 'count', begun: 4, ended: 5, answer: { status: 200, nodes: 0 } } as const;
  t.same(possibleStates([undefined], [created, deleted]), [undefined]);
  t.same(possibleStates([undefined], [created, deleted, counted]), [], 'what was deleted cannot be counted');
  const unanswered = { ...deleted, ended: Infinity, answer: undefined };
  t.equal(possibleStates([undefined], [created, unanswered]).length, 2, 'it may have happened or not');
  t.equal(possibleStates([undefined], [created, unanswered, counted]).length, 2);
  t.end();
});

for (let history = 0; history < HISTORIES; history++) {
  void t.test(`history ${history}`, async (t) => {
    await playHistory(t, { seed: testSeed(810) + history, lives: 8, actionsOfLife: 300 });
  });
}
