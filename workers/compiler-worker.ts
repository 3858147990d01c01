/** Process entry: libpcap, confined. It ends with whoever started it. */
import { newBpfTasks } from '../src/engine/bpf/bpf-tasks.js';
import { forbidSockets, withinBudget } from '../src/engine/bpf/confinement.js';
import { performTask, type TaskRequest } from '../src/base/threads/task.js';
import { goAfterOthers } from '../src/base/threads/thread-priority.js';

goAfterOthers();
forbidSockets();

const { compileBpf, hasLibpcap } = newBpfTasks();
const tasks = {
  compileBpf: (input: Parameters<typeof compileBpf>[0]) => withinBudget(() => compileBpf(input)),
  hasLibpcap,
};

process.on('message', (request: TaskRequest) => {
  void performTask(tasks, request).then((outcome) => process.send?.(outcome));
});
