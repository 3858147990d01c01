/** Copying a project with its snapshots, by threads of the job worker, for the HTTP thread. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { JobProgress } from '../content/job-progress.js';
import { SNAPSHOTS } from '../../lab/projects/folder-layout.js';
import type { TaskTable } from '../../base/threads/task.js';
import { syncFolder } from '../../base/disk/published-file.js';
import type { Packed } from '../../base/store/store.js';
import { copyTree } from './copied-files.js';
import {
  copySnapshots,
  nodeIdsOf,
  takeInSnapshot,
  treeOfCopy,
  warningOf,
  type SnapshotHome,
} from './copied-snapshots.js';
import { gns3Archive } from './gns3-snapshots.js';
import { contentOfCopy, contentOfRecords } from '../lab-content.js';
import { keepContent } from './making-tasks.js';
import { withoutAddresses } from './portable-content.js';
import { listSnapshots } from '../snapshot-list-tasks.js';
import type { JobPlace } from '../job-place.js';
import { readStill } from '../still-tasks.js';

export interface CopyTasks extends TaskTable {
  /**
   * Makes a copy of the files that `holdFiles` has kept in the work folder, and of the snapshots; the folder `making` is
   * there and empty. Returns what could not be taken along.
   */
  readonly copyProject: (
    input: JobPlace & {
      making: string;
      projectId: string;
      copyId: string;
      records: Packed;
      resetsAddresses: boolean;
      progress: SharedArrayBuffer;
    },
  ) => Promise<string[]>;
}

export const copyTasks: CopyTasks = {
  async copyProject({ making, projectId, copyId, records, resetsAddresses, progress: memory, ...place }) {
    const { root } = place;
    const progress = new JobProgress(memory);
    const original = contentOfRecords(projectId, records);
    const still = readStill(place);
    progress.expect(still.bytes);
    copyTree(treeOfCopy(copyId, nodeIdsOf(original), still), making, progress);
    const folder = join(making, SNAPSHOTS);
    mkdirSync(folder);
    const home = { projectId: copyId, folder, work: join(making, 'tmp', 'snapshot'), isCopy: true };
    const warnings = [
      ...copySnapshots(join(root, SNAPSHOTS), home),
      ...(await takeInAll(join(root, SNAPSHOTS), projectId, home, progress)),
    ];
    syncFolder(folder);
    const content = contentOfCopy(copyId, resetsAddresses ? withoutAddresses(original) : original);
    const settings = { ...content.settings, auto_open: false, auto_start: false, auto_close: false };
    keepContent(making, { ...content, settings });
    return warnings;
  },
};

/** The snapshots that GNS3 made. */
export async function takeInAll(
  from: string,
  projectId: string,
  home: SnapshotHome,
  progress: JobProgress,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const { snapshot, form } of listSnapshots(from, projectId)) {
    if (form !== 'gns3') continue;
    try {
      await takeInSnapshot(gns3Archive(from, snapshot), snapshot, home, progress);
    } catch (error) {
      warnings.push(warningOf(snapshot, error));
    }
  }
  return warnings;
}
