/** Thread entry: a packet engine, from its start to its end. */
import { workerData } from 'node:worker_threads';
import type { EngineStart } from '../src/engine/control/supervised-engine.js';
import { runEngine } from '../src/engine/control/engine-task.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('engine');

await runEngine(workerData as EngineStart);
