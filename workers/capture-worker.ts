/** Thread entry: a loop that drains captures to their files, from its start to its end. */
import { workerData } from 'node:worker_threads';
import { runWriter } from '../src/captures/writing/writer-loop.js';
import type { WriterStart } from '../src/captures/writing/writer-orders.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('capture');

runWriter(workerData as WriterStart);
