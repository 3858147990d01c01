/** Thread entry: a job thread, for finite work that may take long. */
import { workerData } from 'node:worker_threads';
import { auditCheckTasks } from '../src/operations/audit-verification.js';
import { backupTasks } from '../src/operations/backup/backup-tasks.js';
import { compareTasks } from '../src/snapshots/compare-tasks.js';
import { fileChangeTasks } from '../src/snapshots/file-change-tasks.js';
import { copyTasks } from '../src/snapshots/projects/copy-tasks.js';
import { exportTasks } from '../src/snapshots/projects/export-tasks.js';
import { importTasks } from '../src/snapshots/projects/import-tasks.js';
import { stagingTasks } from '../src/snapshots/projects/staging-tasks.js';
import { snapshotTasks } from '../src/snapshots/snapshot-tasks.js';
import { freezeTasks } from '../src/snapshots/freeze-tasks.js';
import { goAfterOthers } from '../src/base/threads/thread-priority.js';
import { setDiskFloor } from '../src/base/disk/disk-floor.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('job');

goAfterOthers();
setDiskFloor((workerData as { floor: number | undefined } | null)?.floor);

const tasks = {
  ...auditCheckTasks,
  ...backupTasks,
  ...compareTasks,
  ...copyTasks,
  ...exportTasks,
  ...fileChangeTasks,
  ...importTasks,
  ...stagingTasks,
  ...snapshotTasks,
  ...freezeTasks,
};

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(tasks, request);
}
