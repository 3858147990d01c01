import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { Refusal } from '../../../src/base/errors/errors.js';
import { TaskPool } from '../../../src/base/threads/task-pool.js';
import { scratchFolder } from '../../support/scratch.js';
import type { TestTasks } from '../../support/task-worker.js';

function makePool(t: Test, threads: number, queueLimit = 10_000, workerData?: unknown): TaskPool<TestTasks> {
  const worker = new URL('../../support/task-worker.js', import.meta.url);
  const pool = new TaskPool<TestTasks>({ worker, threads, queueLimit, workerData });
  t.teardown(() => pool.close());
  return pool;
}

/** Keeps one thread of the pool busy until it is released. */
function occupy(pool: TaskPool<TestTasks>): () => Promise<void> {
  const word = new Int32Array(new SharedArrayBuffer(4));
  const waiting = pool.run('wait', word);
  return async () => {
    Atomics.store(word, 0, 1);
    Atomics.notify(word, 0);
    await waiting;
  };
}

void t.test('a task is run in another thread, with what the pool was made with', async (t) => {
  const pool = makePool(t, 1, 10, { folder: 'somewhere' });
  t.same(await pool.run('echo', { a: [1, null, 'é'] }), { a: [1, null, 'é'] });
  t.not(await pool.run('thread', undefined), 0);
  t.same(await pool.run('data', undefined), { folder: 'somewhere' });
});

void t.test('a refusal arrives as a refusal, a fault as an error with its own stack', async (t) => {
  const pool = makePool(t, 1);
  await t.rejects(pool.run('refuse', 409), new Refusal(409, 'refused', 'refused with 409'));
  await t.rejects(
    pool.run('makeFolder', '/nothing/there'),
    new Refusal(404, 'file_missing', '404: Not Found'),
  );
  const fault: unknown = await pool.run('fail', 'out of luck').catch((error: unknown) => error);
  t.notOk(fault instanceof Refusal);
  t.match(fault, { message: 'out of luck', stack: /task-worker/ });
  t.equal(await pool.run('echo', 'still'), 'still');
});

void t.test('one thread runs tasks in the order in which they were given', async (t) => {
  const pool = makePool(t, 1);
  const release = occupy(pool);
  const done: number[] = [];
  const runs = Array.from({ length: 3000 }, async (_, index) => {
    await pool.run(index % 7 === 0 ? 'length' : 'echo', new Uint8Array(1));
    done.push(index);
  });
  await release();
  await Promise.all(runs);
  t.same(
    done,
    Array.from({ length: 3000 }, (_, index) => index),
  );
});

void t.test('tasks run beside each other on several threads', async (t) => {
  const pool = makePool(t, 2);
  const release = occupy(pool);
  t.equal(await pool.run('echo', 'beside'), 'beside');
  await release();
});

void t.test('a burst of short tasks starts no thread beside the one that is there', async (t) => {
  const worker = new URL('../../support/task-worker.js', import.meta.url);
  // A machine that is so busy that tasks wait for long gets another thread for them, so not each burst shows it.
  let pool: TaskPool<TestTasks>;
  let used: number;
  let tries = 0;
  do {
    pool = new TaskPool<TestTasks>({ worker, threads: 2, readyThreads: 1, queueLimit: 100 });
    const made = pool;
    t.teardown(() => made.close());
    const burst = Array.from({ length: 3 }, () => pool.run('thread', undefined));
    used = new Set(await Promise.all(burst)).size;
  } while (used > 1 && ++tries < 20);
  t.equal(used, 1);
  const release = occupy(pool);
  t.equal(await pool.run('echo', 'beside'), 'beside', 'a task that waits for long gets another thread');
  await release();
});

void t.test('a full queue refuses with 503 and takes more when it has emptied', async (t) => {
  const pool = makePool(t, 1, 5);
  const waiting = pool.run('echo', 'awake');
  await waiting;
  const release = occupy(pool);
  const runs: Promise<unknown>[] = [];
  let refused: unknown;
  while (refused === undefined && runs.length < 100) {
    const run = pool.run('echo', runs.length);
    const isRefused = await Promise.race([
      run.then(
        () => undefined,
        (error: unknown) => error,
      ),
      new Promise((resolve) => setImmediate(resolve)),
    ]);
    refused = isRefused;
    if (refused === undefined) runs.push(run);
  }
  t.match(refused, { name: 'Refusal', status: 503 });
  t.ok(runs.length >= 5 && runs.length <= 6, `${runs.length} tasks wait`);
  await release();
  t.same(
    await Promise.all(runs),
    runs.map((_, index) => index),
  );
  t.equal(await pool.run('echo', 'again'), 'again');
});

void t.test('moved buffers change hands, others are copied', async (t) => {
  const pool = makePool(t, 1);
  const copied = new Uint8Array(1000);
  t.equal(await pool.run('length', copied), 1000);
  t.equal(copied.length, 1000);
  const moved = new Uint8Array(1000);
  t.equal(await pool.run('length', moved, [moved.buffer]), 1000);
  t.equal(moved.length, 0);
});

void t.test('a thread that dies fails its own task, and another takes its place', async (t) => {
  const pool = makePool(t, 1);
  const before = await pool.run('thread', undefined);
  await t.rejects(pool.run('die', undefined));
  t.not(await pool.run('thread', undefined), before);
});

void t.test('a pool that starts on use has no threads before its first task', async (t) => {
  const worker = new URL('../../support/task-worker.js', import.meta.url);
  // Linux shows the threads of a process.
  const threads = (): number => (existsSync('/proc/self/task') ? readdirSync('/proc/self/task').length : 0);
  const before = threads();
  const options = { worker, threads: 2, queueLimit: 10, readyThreads: 0 };
  const unused = new TaskPool<TestTasks>(options);
  const pool = new TaskPool<TestTasks>(options);
  t.teardown(() => pool.close());
  t.ok(threads() <= before);
  await unused.close();
  const release = occupy(pool);
  t.equal(await pool.run('echo', 'beside'), 'beside', 'there are as many threads as are needed');
  await release();
  const first = await pool.run('thread', undefined);
  t.ok(first > 0);
  await t.rejects(pool.run('die', undefined));
  t.equal(await pool.run('echo', 'again'), 'again');
});

void t.test('closing lets everything that was given finish', async (t) => {
  const pool = makePool(t, 1);
  const folder = scratchFolder(t);
  const runs = Array.from({ length: 200 }, (_, index) => pool.run('makeFolder', join(folder, String(index))));
  await pool.close();
  await Promise.all(runs);
  t.ok(existsSync(join(folder, '199')));
});

void t.test('a pool that is closed while its threads load ends none of them in a native library', (t) => {
  const file = fileURLToPath(new URL('../../support/brief-pools.js', import.meta.url));
  const { status, signal, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  t.same({ status, signal }, { status: 0, signal: null }, stderr.slice(0, 500));
  t.end();
});
