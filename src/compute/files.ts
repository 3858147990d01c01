/** The file threads as the compute side uses them. */
import type { UsageTasks } from '../capture/usage-tasks.js';
import type { FolderTasks } from '../lab/folder-tasks.js';
import type { TaskPool } from '../pool/task-pool.js';
import type { FileTasks } from '../storage/file-tasks.js';
import type { DigestTasks } from '../storage/folder-digests.js';
import type { HostTasks } from './host-tasks.js';

export type ComputeFiles = TaskPool<FileTasks & FolderTasks & DigestTasks & HostTasks & UsageTasks>;
