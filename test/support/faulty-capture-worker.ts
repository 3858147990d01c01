/** The thread of a writer loop that can be broken, in the ways of ./writer-faults.ts. */
import { basename } from 'node:path';
import { DiskRoom } from '../../src/captures/writing/disk-room.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../../src/base/threads/task.js';
import { fileChores } from '../../src/captures/writing/file-chores.js';
import { WRITER_FAULT } from './writer-faults.js';

// As workers/capture-worker.ts does, which is built as one bundle: a change of the class below would not reach it.
export { runWriter as default } from '../../src/captures/writing/writer-loop.js';

export function doChore(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(fileChores, request);
}

type Check = (this: DiskRoom, folder: string, now: number) => void;
const check: unknown = Reflect.get(DiskRoom.prototype, 'check');

Reflect.set(DiskRoom.prototype, 'check', function (this: DiskRoom, folder: string, now: number): void {
  if (basename(folder) === WRITER_FAULT.spin) for (;;);
  if (basename(folder) === WRITER_FAULT.exit) process.exit(3);
  (check as Check).call(this, folder, now);
});
