/** Thread entry: the checks of a host. */
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { nameThread } from '../src/base/threads/thread-work.js';
import { doctorTasks } from '../src/operations/doctor/doctor-tasks.js';

nameThread('doctor');

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(doctorTasks, request);
}
