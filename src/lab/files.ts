/** The file threads as the lab uses them. */
import type { TaskPool } from '../pool/task-pool.js';
import type { FileTasks } from '../storage/file-tasks.js';
import type { SymbolTasks } from '../symbols/symbol-tasks.js';
import type { CaptureFileTasks } from './capture-file-tasks.js';
import type { FolderTasks } from './folder-tasks.js';
import type { TopologyTasks } from './topology-tasks.js';

export type Files = TaskPool<CaptureFileTasks & FileTasks & FolderTasks & SymbolTasks & TopologyTasks>;
