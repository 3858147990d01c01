/** Thread entry: a thread for what the loops that drain captures do not wait for. */
import { fileChores } from '../src/captures/writing/file-chores.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('chore');

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(fileChores, request);
}
