/** What a project needs to live: what all projects of the farm share, and what is stored of this one. */
import type { Logger } from 'pino';
import type { Packed, Store } from '../../base/store/store.js';
import type { Channel } from '../../base/streams/channel.js';
import type { FileTasks } from '../../base/disk/file-tasks.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { TopologyTasks } from '../gns3-file/topology-tasks.js';
import type { PlacingTasks } from './file-placing.js';
import type { FolderExchangeTasks } from './folder-exchange.js';
import type { FolderTasks } from './folder-tasks.js';
import type { LabRecords } from './records.js';
import type { Surroundings } from '../topology/topology.js';

/** Keeps what was stored of a project, if anything was, as a snapshot of this name, without files. Tells whether. */
export type KeepState = (input: {
  /** The project's folder. */
  readonly root: string;
  readonly projectId: string;
  readonly records: Packed;
  readonly name: string;
}) => Promise<boolean>;

/** What the file threads do for projects. */
export type ProjectFileTasks = FileTasks & FolderExchangeTasks & FolderTasks & PlacingTasks & TopologyTasks;
export type ProjectFiles = TaskRunner<ProjectFileTasks>;

export interface ProjectServices {
  readonly store: Store;
  readonly files: ProjectFiles;
  readonly log: Logger;
  readonly gns3Version: string;
  readonly surroundings: Surroundings;
  readonly keepState: KeepState;
  /** Mends what a server left half written in the folder of a project; called before the project is opened. */
  readonly mendFolder: (folder: string) => Promise<void>;
  /** The controller's stream, where what concerns a project as a whole is announced. */
  readonly announcements: Channel;
}

export type ProjectState = Pick<LabRecords, 'project' | 'file' | 'version' | 'exchange' | 'openState'>;
