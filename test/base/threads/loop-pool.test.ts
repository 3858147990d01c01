import { availableParallelism } from 'node:os';
import t, { type Test } from 'tap';
import { LoopPool, type PooledLoop } from '../../../src/base/threads/loop-pool.js';
import type { RunLoop } from '../../../src/base/threads/loop-run.js';
import { WorkerLoop } from '../../../src/base/threads/worker-loop.js';
import { refusals } from '../../../src/base/errors/errors.js';
import type { TestParts, TestReport } from '../../support/loop-worker.js';
import { PaperLog } from '../../support/paper-log.js';

const WORKER = new URL('../../support/loop-worker.js', import.meta.url);

class CountedLoop extends WorkerLoop<TestParts, TestReport> implements PooledLoop {
  load = 0;

  constructor(run: RunLoop<TestParts>) {
    super({
      name: 'loop of a pool',
      log: new PaperLog().log,
      run,
      newSetup: () => ({ greeting: 'good morning' }),
      isBusy: () => false,
    });
  }
}

function poolOf(t: Test, count?: number): LoopPool<CountedLoop> {
  const counted = count === undefined ? {} : { count };
  const pool = new LoopPool({ worker: WORKER, newLoop: (run) => new CountedLoop(run), ...counted });
  t.teardown(() => pool.close());
  return pool;
}

void t.test('there is a loop per two cores, or as many as are wanted', (t) => {
  t.equal(poolOf(t).loops.length, Math.max(1, Math.floor(availableParallelism() / 2)));
  t.equal(poolOf(t, 5).loops.length, 5);
  t.end();
});

void t.test('the least loaded loop is taken', (t) => {
  const pool = poolOf(t, 3);
  for (const [index, loop] of pool.loops.entries()) loop.load = pool.loops.length - index;
  t.equal(pool.leastLoaded, pool.loops.at(-1));
  t.end();
});

void t.test('each loop has a thread of its own', async (t) => {
  const pool = poolOf(t, 3);
  const ask = (loop: CountedLoop): Promise<unknown> => loop.ask({ task: 'thread', input: undefined });
  const threads = await Promise.all(pool.loops.map(ask));
  t.equal(new Set(threads).size, 3);
  t.same(await Promise.all(pool.loops.map(ask)), threads);
});

void t.test('closing ends every loop, and nothing more is taken', async (t) => {
  const listeners = process.listenerCount('exit');
  const pool = poolOf(t);
  t.equal(process.listenerCount('exit'), listeners + 1);
  await Promise.all(pool.loops.map((loop) => loop.ask({ task: 'echo', input: 1 })));
  await pool.close();
  t.equal(process.listenerCount('exit'), listeners);
  for (const loop of pool.loops) await t.rejects(loop.ask({ task: 'echo', input: 1 }), refusals.stopping());
});
