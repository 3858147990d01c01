/** Thread entry: a packet engine, from its start to its end. */
import { workerData } from 'node:worker_threads';
import type { EngineStart } from '../src/engines/engine-start.js';
import { runEngine } from '../src/engines/engine-task.js';

await runEngine(workerData as EngineStart);
