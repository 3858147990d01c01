/** The file threads as the compute side uses them. */
import type { UsageTasks } from '../captures/usage-tasks.js';
import type { FolderTasks } from '../lab/projects/folder-tasks.js';
import type { FileTasks } from '../base/disk/file-tasks.js';
import type { DigestTasks } from '../base/disk/folder-digests.js';
import type { FilePool } from '../files/downloads/file-pool.js';
import type { HostTasks } from './host-tasks.js';

export type ComputeFiles = FilePool<FileTasks & FolderTasks & DigestTasks & HostTasks & UsageTasks>;
