/** Thread entry: a loop that drains captures to their files, or a thread for the chores beside it. */
import { fileChores } from '../src/captures/writing/file-chores.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';

export { runWriter as default } from '../src/captures/writing/writer-loop.js';

export function doChore(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(fileChores, request);
}
