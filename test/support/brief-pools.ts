/** A process whose pools are closed as soon as the first of their threads answers, while the others load a native library. */
import { TaskPool } from '../../src/base/threads/task-pool.js';
import type { TaskTable } from '../../src/base/threads/task.js';

interface Nothing extends TaskTable {
  readonly nothing: (input: undefined) => void;
}

const POOLS = 10;
const THREADS = 4;
const worker = new URL('../../workers/namespace-worker.js', import.meta.url);

for (let made = 0; made < POOLS; made++) {
  const pool = new TaskPool<Nothing>({ worker, threads: THREADS, readyThreads: 0, queueLimit: THREADS });
  const tasks = Array.from({ length: THREADS }, () => pool.run('nothing', undefined).catch(() => undefined));
  await Promise.race(tasks);
  await pool.close();
}
