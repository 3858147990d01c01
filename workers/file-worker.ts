/** Thread entry: a file thread, for everything on the disk but the store. */
import { captureFileTasks } from '../src/captures/files/capture-file-tasks.js';
import { configDiskTasks } from '../src/run/nodes/qemu/config-disk/config-disk-tasks.js';
import { qemuHostTasks } from '../src/run/nodes/qemu/qemu-host-tasks.js';
import { qemuTasks } from '../src/run/nodes/qemu/qemu-tasks.js';
import { savedMemoryTasks } from '../src/run/nodes/qemu/saved-memory-tasks.js';
import { iouTasks } from '../src/run/nodes/iou/iou-tasks.js';
import { dynamipsTasks } from '../src/run/nodes/dynamips/dynamips-tasks.js';
import { dockerTasks } from '../src/run/nodes/docker/docker-tasks.js';
import { vpcsTasks } from '../src/run/nodes/vpcs/vpcs-tasks.js';
import { confinementTasks } from '../src/run/nodes/confinement-tasks.js';
import { hostTasks } from '../src/run/host-tasks.js';
import { placingTasks } from '../src/lab/projects/file-placing.js';
import { folderSwapTasks } from '../src/lab/projects/folder-swap.js';
import { folderTasks } from '../src/lab/projects/folder-tasks.js';
import { nodeFileTasks } from '../src/files/node-files/node-file-tasks.js';
import { partLoading } from '../src/files/uploads/part-tasks.js';
import { gns3Tasks } from '../src/lab/gns3-file/tasks.js';
import { performTask, type TaskOutcome, type TaskRequest } from '../src/base/threads/task.js';
import { labTextTasks } from '../src/lab/lab-file/lab-text-tasks.js';
import { fileTasks } from '../src/base/disk/file-tasks.js';
import { digestTasks } from '../src/base/disk/folder-digests.js';
import { snapshotListTasks } from '../src/snapshots/snapshot-list-tasks.js';
import { applianceTasks } from '../src/lab/appliances/appliance-tasks.js';
import { auditTasks } from '../src/lab/audit/audit-tasks.js';
import { certificateTasks } from '../src/operations/certificate-tasks.js';
import { settingsTasks } from '../src/operations/settings-tasks.js';
import { historyTasks } from '../src/operations/history/history-tasks.js';
import { symbolTasks } from '../src/lab/symbols/symbol-tasks.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('file');

const tasks = {
  ...applianceTasks,
  ...auditTasks,
  ...captureFileTasks,
  ...certificateTasks,
  ...configDiskTasks,
  ...confinementTasks,
  ...digestTasks,
  ...dockerTasks,
  ...dynamipsTasks,
  ...fileTasks,
  ...labTextTasks,
  ...folderSwapTasks,
  ...folderTasks,
  ...historyTasks,
  ...hostTasks,
  ...iouTasks,
  ...nodeFileTasks,
  ...partLoading,
  ...placingTasks,
  ...qemuHostTasks,
  ...qemuTasks,
  ...savedMemoryTasks,
  ...settingsTasks,
  ...snapshotListTasks,
  ...symbolTasks,
  ...gns3Tasks,
  ...vpcsTasks,
};

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(tasks, request);
}
