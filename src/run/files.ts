/** The tasks that the compute interface gives to the file threads. */
import type { DigestTasks } from '../base/disk/folder-digests.js';
import type { FileTasks } from '../base/disk/file-tasks.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { FolderTasks } from '../lab/projects/folder-tasks.js';
import type { NodeFileTasks } from '../files/node-files/node-file-tasks.js';
import type { HostTasks } from './host-tasks.js';
import type { ConfinementTasks } from './nodes/confinement-tasks.js';
import type { DockerTasks } from './nodes/docker/docker-tasks.js';
import type { DynamipsTasks } from './nodes/dynamips/dynamips-tasks.js';
import type { IouTasks } from './nodes/iou/iou-tasks.js';
import type { ConfigDiskTasks } from './nodes/qemu/config-disk/config-disk-tasks.js';
import type { QemuHostTasks } from './nodes/qemu/qemu-host-tasks.js';
import type { QemuTasks } from './nodes/qemu/qemu-tasks.js';
import type { SavedMemoryTasks } from './nodes/qemu/saved-memory-tasks.js';
import type { VpcsTasks } from './nodes/vpcs/vpcs-tasks.js';

/** The tasks of the kinds of node that are programs, and of their confinement. */
type ProgramTasks = ConfigDiskTasks &
  ConfinementTasks &
  DockerTasks &
  DynamipsTasks &
  IouTasks &
  QemuHostTasks &
  QemuTasks &
  SavedMemoryTasks &
  VpcsTasks;

export type ComputeFiles = TaskRunner<
  FileTasks & FolderTasks & DigestTasks & HostTasks & NodeFileTasks & ProgramTasks
>;
