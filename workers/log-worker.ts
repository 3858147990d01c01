/** Thread entry: a thread that adds lines to a log file. */
import { logTasks } from '../src/base/disk/log-tasks.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('log');

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(logTasks, request);
}
