/** The thread of a writer loop that can be broken, in the ways of ./writer-faults.ts. */
import { basename } from 'node:path';
import { workerData } from 'node:worker_threads';
import { DiskRoom } from '../../src/captures/writing/disk-room.js';
import { runWriter } from '../../src/captures/writing/writer-loop.js';
import type { WriterStart } from '../../src/captures/writing/writer-orders.js';
import { WRITER_FAULT } from './writer-faults.js';

type Check = (this: DiskRoom, folder: string, now: number) => void;
const check: unknown = Reflect.get(DiskRoom.prototype, 'check');

Reflect.set(DiskRoom.prototype, 'check', function (this: DiskRoom, folder: string, now: number): void {
  if (basename(folder) === WRITER_FAULT.spin) for (;;);
  if (basename(folder) === WRITER_FAULT.exit) process.exit(3);
  (check as Check).call(this, folder, now);
});

// As workers/capture-worker.ts does, which is built as one bundle: the change of the class would not reach it.
runWriter(workerData as WriterStart);
