/** Makes projects in staging folders; the job threads run it for the HTTP thread. */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { EXTENSION, TEMPORARY } from '../../lab/projects/folder-layout.js';
import { fileNameOf } from '../../lab/projects/project-names.js';
import { projectKey } from '../../lab/projects/records.js';
import { renderTopology } from '../../lab/gns3-file/format.js';
import { importTopology, type ImportedProject } from '../../lab/gns3-file/reading.js';
import type { TaskTable } from '../../base/threads/task.js';
import { syncFolder, writeWhole } from '../../base/disk/published-file.js';
import { packChanges, unpackChanges } from '../../base/store/packing.js';
import { directedChanges, labFileChanges, recordsOf, type LabContent } from '../lab-content.js';

export interface StagingTasks extends TaskTable {
  readonly beginStaging: (input: { stagingFolder: string }) => void;
  /** Writes the topology file from the content that `keepContent` has kept; returns the records for the store. */
  readonly finishStaging: (input: {
    stagingFolder: string;
    /** The folder that the project will have. */
    place: string;
    projectId: string;
    name: string;
    order: number;
    gns3Version: string;
  }) => ImportedProject;
  /** Moves the project to its place. */
  readonly settleStaging: (input: { stagingFolder: string; place: string }) => void;
  readonly dropStaging: (input: { stagingFolder: string }) => void;
}

const CONTENT = 'content.json';

export const stagingTasks: StagingTasks = {
  beginStaging({ stagingFolder }) {
    mkdirSync(stagingFolder, { recursive: true });
  },

  finishStaging({ stagingFolder, place, projectId, name, order, gns3Version }) {
    const kept = readFileSync(join(stagingFolder, TEMPORARY, CONTENT), 'utf8');
    const content = JSON.parse(kept) as LabContent;
    const named = { ...content, settings: { ...content.settings, name } };
    const filename = `${fileNameOf(name)}${EXTENSION}`;
    const head = { order, path: place, filename, settings: named.settings, computes: named.computes };
    const bytes = Buffer.from(renderTopology(projectId, recordsOf(named, head), gns3Version));
    rmSync(join(stagingFolder, TEMPORARY), { recursive: true });
    writeSynced(join(stagingFolder, filename), bytes);
    syncFolder(stagingFolder);
    const imported = importTopology(stagingFolder, filename, bytes, order);
    const project = { ...imported.project, path: place };
    const changes = [
      ...unpackChanges(imported.changes),
      { put: projectKey(projectId), value: project },
      ...directedChanges(projectId, content),
      ...labFileChanges(projectId, content),
    ];
    return { ...imported, project, changes: packChanges(changes) };
  },

  settleStaging({ stagingFolder, place }) {
    renameSync(stagingFolder, place);
    try {
      syncFolder(dirname(place));
    } catch (error) {
      // Otherwise the next start would find a project that was never announced.
      renameSync(place, stagingFolder);
      throw error;
    }
  },

  dropStaging({ stagingFolder }) {
    rmSync(stagingFolder, { recursive: true, force: true });
  },
};

/** Keeps the content of the project in its staging folder, for `finishStaging`. */
export function keepContent(stagingFolder: string, content: LabContent): void {
  mkdirSync(join(stagingFolder, TEMPORARY), { recursive: true });
  writeFileSync(join(stagingFolder, TEMPORARY, CONTENT), JSON.stringify(content));
}

function writeSynced(path: string, bytes: Uint8Array): void {
  const fd = openSync(path, 'wx');
  try {
    writeWhole(fd, bytes, 0);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
