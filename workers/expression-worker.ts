/** Thread entry: BPF expressions, which the process of compiler-worker.ts compiles. */
import { CompilerProcess } from '../src/engine/bpf/compiler-process.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('expression');

const { tasks } = new CompilerProcess(new URL('./compiler-worker.js', import.meta.url));

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(tasks, request);
}
