/** A thread that writes numbered records into a log as fast as they are drained. */
import { parentPort, workerData } from 'node:worker_threads';
import type { CaptureMemory } from '../../src/base/memory/capture-memory.js';
import { LogScribe, recordOf, type Format } from './log-scribe.js';
import { patience } from './patience.js';
import { seededRandom } from './seeded-random.js';

export interface ScribeWork {
  readonly memory: CaptureMemory;
  readonly index: number;
  readonly records: number;
  readonly format: Format;
}

const MOST_TRIES = patience(60_000);

const { memory, index, records, format } = workerData as ScribeWork;
const scribe = new LogScribe(memory, index);
const random = seededRandom(index + 1);
const pause = new Int32Array(new SharedArrayBuffer(4));

for (let number = 0; number < records; number++) {
  const record = recordOf(number, format);
  for (let tries = 0; !scribe.write(record); tries++) {
    if (tries > MOST_TRIES) throw new Error('nobody drains the log');
    scribe.publish();
    Atomics.wait(pause, 0, 0, 1);
  }
  if (random() < 0.05) scribe.publish();
  if (random() < 0.0005) Atomics.wait(pause, 0, 0, 1 + random() * 10);
}
scribe.publish();
parentPort?.postMessage(scribe.head);
