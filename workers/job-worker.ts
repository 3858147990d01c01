/** Thread entry: a job thread, for finite work that may take long. */
import { newBpfTasks } from '../src/capture/bpf-tasks.js';
import { compareTasks } from '../src/snapshots/compare-tasks.js';
import { copyTasks } from '../src/snapshots/copy-tasks.js';
import { exportTasks } from '../src/snapshots/export-tasks.js';
import { importTasks } from '../src/snapshots/import-tasks.js';
import { makingTasks } from '../src/snapshots/making-tasks.js';
import { snapshotTasks } from '../src/snapshots/snapshot-tasks.js';
import { stillTasks } from '../src/snapshots/still-tasks.js';
import { goAfterOthers } from '../src/pool/thread-priority.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/pool/task.js';

goAfterOthers();

const tasks = {
  ...newBpfTasks(),
  ...compareTasks,
  ...copyTasks,
  ...exportTasks,
  ...importTasks,
  ...makingTasks,
  ...snapshotTasks,
  ...stillTasks,
};

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(tasks, request);
}
