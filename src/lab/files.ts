/** The file threads as the lab uses them. */
import type { FilePool } from '../transfer/file-pool.js';
import type { FileTasks } from '../storage/file-tasks.js';
import type { SymbolTasks } from '../symbols/symbol-tasks.js';
import type { CaptureFileTasks } from './capture-file-tasks.js';
import type { PlacingTasks } from './file-placing.js';
import type { FolderExchangeTasks } from './folder-exchange.js';
import type { FolderTasks } from './folder-tasks.js';
import type { NodeFileTasks } from './node-file-tasks.js';
import type { TopologyTasks } from './topology-tasks.js';

export type Files = FilePool<
  CaptureFileTasks &
    FileTasks &
    FolderExchangeTasks &
    FolderTasks &
    NodeFileTasks &
    PlacingTasks &
    SymbolTasks &
    TopologyTasks
>;
