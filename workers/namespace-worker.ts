/** Thread entry: a thread that makes networks for the programs of nodes. It enters them, so it does nothing else. */
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { namespaceTasks } from '../src/run/nodes/namespace-tasks.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('namespace');

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(namespaceTasks, request);
}
