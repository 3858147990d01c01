/** Thread entry: the state thread, the only one that touches the store. */
import { workerData } from 'node:worker_threads';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { stateTasks } from '../src/base/store/state-tasks.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('state');

const tasks = stateTasks((workerData as { folder: string }).folder);

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(tasks, request);
}
