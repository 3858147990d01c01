/** What a project needs to live: what all projects of the farm share, and what is stored of this one. */
import type { Logger } from 'pino';
import type { Store } from '../store/store.js';
import type { Channel } from './channel.js';
import type { Files } from './files.js';
import type { LabRecords } from './records.js';
import type { Surroundings } from './topology.js';

export interface ProjectServices {
  readonly store: Store;
  readonly files: Files;
  readonly log: Logger;
  readonly gns3Version: string;
  readonly surroundings: Surroundings;
  /** The controller's stream, where what concerns a project as a whole is announced. */
  readonly announcements: Channel;
}

export type ProjectState = Pick<LabRecords, 'project' | 'file' | 'version' | 'exchange'>;
