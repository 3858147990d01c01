/** Thread entry: a thread through which the memory of guests passes, to and from files. */
import { workerData } from 'node:worker_threads';
import { setDiskFloor } from '../src/base/disk/disk-floor.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { memoryTasks } from '../src/run/nodes/qemu/memory-tasks.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('memory');

setDiskFloor((workerData as { floor: number | undefined } | null)?.floor);

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(memoryTasks, request);
}
