/** Thread entry: passwords, whose checks must not slow down what labs need. */
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { nameThread } from '../src/base/threads/thread-work.js';
import { goAfterOthers } from '../src/base/threads/thread-priority.js';
import { passwordTasks } from '../src/lab/access/password-tasks.js';

nameThread('password');
goAfterOthers();

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(passwordTasks, request);
}
