/** Thread entry: a file thread, for everything on the disk but the store. */
import { usageTasks } from '../src/capture/usage-tasks.js';
import { hostTasks } from '../src/compute/host-tasks.js';
import { captureFileTasks } from '../src/lab/capture-file-tasks.js';
import { placingTasks } from '../src/lab/file-placing.js';
import { folderExchangeTasks } from '../src/lab/folder-exchange.js';
import { folderTasks } from '../src/lab/folder-tasks.js';
import { nodeFileTasks } from '../src/lab/node-file-tasks.js';
import { topologyTasks } from '../src/lab/topology-tasks.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/pool/task.js';
import { fileTasks } from '../src/storage/file-tasks.js';
import { digestTasks } from '../src/storage/folder-digests.js';
import { snapshotListTasks } from '../src/snapshots/snapshot-list-tasks.js';
import { symbolTasks } from '../src/symbols/symbol-tasks.js';

const tasks = {
  ...captureFileTasks,
  ...digestTasks,
  ...fileTasks,
  ...folderExchangeTasks,
  ...folderTasks,
  ...hostTasks,
  ...nodeFileTasks,
  ...placingTasks,
  ...snapshotListTasks,
  ...symbolTasks,
  ...topologyTasks,
  ...usageTasks,
};

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(tasks, request);
}
