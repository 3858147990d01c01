/** The promises of everything that runs a node, as a suite over a kind of runtime. */
import type { Test } from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import type { NodeRuntime } from '../../../src/run/nodes/node-runtime.js';

export interface RuntimeFacts {
  readonly alwaysRuns: boolean;
  readonly canBeSuspended: boolean;
  /** Two ports that links may be attached to. */
  readonly ports: readonly [number, number];
}

const NOWHERE = { type: 'nio_null' } as const;

export function nodeRuntimeContract(
  t: Test,
  { alwaysRuns, canBeSuspended, ports: [first, second] }: RuntimeFacts,
  make: (t: Test) => Promise<NodeRuntime>,
): void {
  const atRest = alwaysRuns ? 'started' : 'stopped';

  void t.test(
    'a node that is started runs, and one that is stopped does not unless it always runs',
    async (t) => {
      const node = await make(t);
      t.equal(node.status, atRest, 'a new node');
      await node.stop();
      t.equal(node.status, atRest, 'stopped before it was started');
      for (let times = 0; times < 2; times++) {
        await node.start();
        await node.start();
        t.equal(node.status, 'started');
        await node.stop();
        await node.stop();
        t.equal(node.status, atRest);
      }
    },
  );

  void t.test('a suspended node is resumed by a start, and can be stopped', async (t) => {
    const node = await make(t);
    const suspended = canBeSuspended ? 'suspended' : 'started';
    await node.suspend();
    t.equal(node.status, atRest, 'suspended before it was started');
    await node.start();
    await node.suspend();
    await node.suspend();
    t.equal(node.status, suspended);
    await node.start();
    t.equal(node.status, 'started');
    await node.suspend();
    await node.stop();
    t.equal(node.status, atRest);
  });

  void t.test('a node runs after it was reloaded, whatever it did before', async (t) => {
    const node = await make(t);
    await node.reload();
    t.equal(node.status, 'started');
    await node.reload();
    t.equal(node.status, 'started');
    await node.suspend();
    await node.reload();
    t.equal(node.status, 'started');
  });

  void t.test('requests that come at once are carried out one after the other', async (t) => {
    const node = await make(t);
    const all = [node.start(), node.suspend(), node.stop(), node.reload(), node.start(), node.stop()];
    await Promise.all([...all, node.attach(first, NOWHERE), node.start(), node.detach(first)]);
    t.equal(node.status, 'started');
  });

  void t.test(
    'a port is attached until it is detached, while the node runs and while it does not',
    async (t) => {
      const node = await make(t);
      await node.attach(first, NOWHERE);
      await node.start();
      await t.rejects(node.attach(first, NOWHERE), refusals.portOccupied(first));
      await node.attach(second, NOWHERE);
      await node.stop();
      await t.rejects(node.attach(second, NOWHERE), refusals.portOccupied(second));
      await node.detach(first);
      await t.rejects(node.detach(first), refusals.portUnattached(first));
      await node.attach(first, NOWHERE);
      await node.detach(second);
      await node.detach(first);
    },
  );

  void t.test('a console is there before the node runs, and stays the same', async (t) => {
    const node = await make(t);
    const { console } = node;
    console?.write(Buffer.from('nobody reads this\n'));
    await node.start();
    await node.stop();
    t.equal(node.console, console);
  });
}
