/** When a transfer is given up. */
import t from 'tap';
import { Retries } from '../../src/cli/retries.js';
import { Unreachable } from '../../src/cli/server.js';

const failure = new Unreachable('no server answers', 'ECONNRESET');
const never = new AbortController().signal;

void t.test('ten tries without progress are the last ones', async (t) => {
  const retries = new Retries(0);
  for (let round = 1; round <= 3; round++) {
    retries.reached(round);
    for (let tries = 0; tries < 10; tries++) {
      retries.reached(round);
      await retries.wait(failure, never);
    }
  }
  await t.rejects(retries.wait(failure, never), {
    name: 'CommandError',
    message: 'gave up after 10 tries without progress (ECONNRESET): the same command goes on from here',
  });
});

void t.test('the pause ends with the wish', async (t) => {
  await t.rejects(new Retries(60_000).wait(failure, AbortSignal.abort()), { name: 'AbortError' });
});
