/** The file threads as the compute side uses them. */
import type { UsageTasks } from '../capture/usage-tasks.js';
import type { FolderTasks } from '../lab/folder-tasks.js';
import type { FileTasks } from '../storage/file-tasks.js';
import type { DigestTasks } from '../storage/folder-digests.js';
import type { FilePool } from '../transfer/file-pool.js';
import type { HostTasks } from './host-tasks.js';

export type ComputeFiles = FilePool<FileTasks & FolderTasks & DigestTasks & HostTasks & UsageTasks>;
