/** Thread entry: a job thread, for finite work that may take long. */
import { newBpfTasks } from '../src/capture/bpf-tasks.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/pool/task.js';

const tasks = newBpfTasks();

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(tasks, request);
}
