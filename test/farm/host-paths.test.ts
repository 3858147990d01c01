/** The ways between hosts: a compute that connects again and again is tried no more often than its turn comes. */
import { pino } from 'pino';
import t from 'tap';
import { HostPaths } from '../../src/farm/computes/host-paths.js';
import { eventually } from '../support/eventually.js';

void t.test('the waiting pairs do not grow with a compute that comes and goes', async (t) => {
  let answer: (() => void) | undefined;
  let questions = 0;
  const paths = new HostPaths({
    addresses: { between: () => Promise.resolve(['10.0.0.1', '10.0.0.2']) },
    here: {
      echoes: true,
      echo: () => Promise.reject(new Error('nobody may ask for it')),
      probe: () => Promise.resolve({ largest_frame: 1514, route_mtu: 9000 }),
    },
    nameOf: (id) => id,
    ask: async () => {
      questions++;
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return { echoes: false };
    },
    warn: () => undefined,
    now: () => 0,
    log: pino({ level: 'silent' }),
  });
  for (let count = 0; count < 100; count++) {
    paths.connected('far');
    paths.disconnected('far');
  }
  paths.connected('far');
  await eventually('it is asked', () => answer !== undefined || undefined);
  answer?.();
  await eventually('the way is known', () => paths.of('far', ['local'])[0]?.state === 'whole' || undefined);
  t.equal(questions, 1);
});
