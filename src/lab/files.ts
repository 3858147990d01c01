/** The file threads as the lab uses them. */
import type { FilePool } from '../files/downloads/file-pool.js';
import type { FileTasks } from '../base/disk/file-tasks.js';
import type { SymbolTasks } from './symbols/symbol-tasks.js';
import type { CaptureFileTasks } from '../captures/files/capture-file-tasks.js';
import type { PlacingTasks } from '../files/node-files/file-placing.js';
import type { FolderExchangeTasks } from './projects/folder-exchange.js';
import type { FolderTasks } from './projects/folder-tasks.js';
import type { NodeFileTasks } from '../files/node-files/node-file-tasks.js';
import type { TopologyTasks } from './gns3-file/topology-tasks.js';

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
