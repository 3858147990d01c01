/** Thread entry: a disk thread, for what may wait long for the disk. */
import { workerData } from 'node:worker_threads';
import { imageTasks } from '../src/files/images/image-tasks.js';
import { nodeArchiveTasks } from '../src/files/node-files/node-archive-tasks.js';
import { nameThread } from '../src/base/threads/thread-work.js';
import { measureTasks } from '../src/operations/measure-tasks.js';
import { goAfterOthers } from '../src/base/threads/thread-priority.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { setDiskFloor } from '../src/base/disk/disk-floor.js';
import { diskTasks } from '../src/files/transfer/disk-tasks.js';
import { partTasks } from '../src/files/uploads/part-tasks.js';

const { slabs, floor, role } = workerData as {
  slabs: SharedArrayBuffer;
  floor: number | undefined;
  role: string;
};

nameThread(role);
goAfterOthers();
setDiskFloor(floor);

const tasks = {
  ...diskTasks(slabs),
  ...imageTasks,
  ...measureTasks,
  ...nodeArchiveTasks,
  ...partTasks,
};

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(tasks, request);
}
