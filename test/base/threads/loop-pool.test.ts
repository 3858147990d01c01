import { availableParallelism } from 'node:os';
import t, { type Test } from 'tap';
import { LoopPool, type PooledLoop } from '../../../src/base/threads/loop-pool.js';
import { WorkerLoop, type RunLoop } from '../../../src/base/threads/worker-loop.js';
import { Refusal, refusals } from '../../../src/base/errors/errors.js';
import type { TestParts, TestReport } from '../../support/loop-worker.js';

const WORKER = new URL('../../support/loop-worker.js', import.meta.url);

class CountedLoop extends WorkerLoop<TestParts, TestReport> implements PooledLoop {
  load = 0;

  constructor(run: RunLoop<TestParts>) {
    super({
      setup: { greeting: 'good morning' },
      run,
      onReport: () => undefined,
      isBusy: () => false,
      onceOnly: [],
      onRestart: () => undefined,
    });
  }
}

function poolOf(t: Test): LoopPool<TestParts, CountedLoop> {
  const pool = new LoopPool<TestParts, CountedLoop>({
    worker: WORKER,
    taskThreads: 1,
    newLoop: (run) => new CountedLoop(run),
    onError: (error) => t.fail(String(error)),
  });
  t.teardown(() => pool.close());
  return pool;
}

void t.test('there is a loop per two cores', (t) => {
  t.equal(poolOf(t).loops.length, Math.max(1, Math.floor(availableParallelism() / 2)));
  t.end();
});

void t.test('the least loaded loop is taken', (t) => {
  const pool = poolOf(t);
  for (const [index, loop] of pool.loops.entries()) loop.load = pool.loops.length - index;
  t.equal(pool.leastLoaded, pool.loops.at(-1));
  t.end();
});

void t.test('each loop has a thread of its own, and finite tasks have another', async (t) => {
  const pool = poolOf(t);
  const ask = (loop: CountedLoop): Promise<unknown> => loop.ask({ task: 'thread', input: undefined });
  const threads = await Promise.all(pool.loops.map(ask));
  threads.push(await pool.runTask('doTask', { task: 'thread', input: undefined }));
  t.equal(new Set(threads).size, pool.loops.length + 1);
  t.same(await Promise.all(pool.loops.map(ask)), threads.slice(0, -1));
});

void t.test('a finite task may refuse', async (t) => {
  await t.rejects(
    poolOf(t).runTask('doTask', { task: 'refuse', input: 409 }),
    new Refusal(409, 'refused', 'refused with 409'),
  );
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
