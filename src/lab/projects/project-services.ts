/** What a project needs to live: what all projects of the farm share, and what is stored of this one. */
import type { Logger } from 'pino';
import type { Store } from '../../base/store/store.js';
import type { Channel } from '../../base/streams/channel.js';
import type { Packed } from '../../base/store/packing.js';
import type { Files } from '../files.js';
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

export interface ProjectServices {
  readonly store: Store;
  readonly files: Files;
  readonly log: Logger;
  readonly gns3Version: string;
  readonly surroundings: Surroundings;
  readonly keepState: KeepState;
  /** The controller's stream, where what concerns a project as a whole is announced. */
  readonly announcements: Channel;
}

export type ProjectState = Pick<LabRecords, 'project' | 'file' | 'version' | 'exchange' | 'openState'>;
