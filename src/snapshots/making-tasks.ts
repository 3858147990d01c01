/**
 * Folders in which projects are being made, beside where they will lie. By threads of the job worker, for the HTTP thread.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { EXTENSION, TEMPORARY } from '../lab/folder-layout.js';
import { fileNameOf } from '../lab/project-names.js';
import { projectKey } from '../lab/records.js';
import { renderTopology } from '../lab/topology-file.js';
import { importTopology, type ImportedProject } from '../lab/topology-import.js';
import type { TaskTable } from '../pool/task.js';
import { syncFolder, writeWhole } from '../storage/published-file.js';
import { packChanges, unpackChanges } from '../store/packing.js';
import { directedChanges, recordsOf, type LabContent } from './lab-content.js';

export interface MakingPlace {
  /** The projects folder: what is left of a making is found there at the next start. */
  readonly projects: string;
  /** Absolute; beside the place of the project. */
  readonly making: string;
}

export interface MakingTasks extends TaskTable {
  readonly beginMaking: (input: MakingPlace) => void;
  /** Writes the topology file of what `keepContent` has kept; returns what the store is to hold. */
  readonly finishMaking: (input: {
    making: string;
    /** Where it will lie. */
    place: string;
    projectId: string;
    name: string;
    order: number;
    gns3Version: string;
  }) => ImportedProject;
  /** The project has its place then. */
  readonly settleMaking: (input: MakingPlace & { place: string }) => void;
  readonly dropMaking: (input: MakingPlace) => void;
}

const CONTENT = 'content.json';

export const makingTasks: MakingTasks = {
  beginMaking({ projects, making }) {
    rmSync(making, { recursive: true, force: true });
    const link = linkTo(projects, making);
    if (link !== undefined) {
      rmSync(link, { recursive: true, force: true });
      symlinkSync(making, link);
    }
    mkdirSync(making, { recursive: true });
  },

  finishMaking({ making, place, projectId, name, order, gns3Version }) {
    const kept = readFileSync(join(making, TEMPORARY, CONTENT), 'utf8');
    const content = JSON.parse(kept) as LabContent;
    const told = { ...content, settings: { ...content.settings, name } };
    const filename = `${fileNameOf(name)}${EXTENSION}`;
    const head = { order, path: place, filename, settings: told.settings, computes: told.computes };
    const bytes = Buffer.from(renderTopology(projectId, recordsOf(told, head), gns3Version));
    rmSync(join(making, TEMPORARY), { recursive: true });
    writeSynced(join(making, filename), bytes);
    syncFolder(making);
    const imported = importTopology(making, filename, bytes, order);
    const project = { ...imported.project, path: place };
    const changes = [
      ...unpackChanges(imported.changes),
      { put: projectKey(projectId), value: project },
      ...directedChanges(projectId, content),
    ];
    return { ...imported, project, changes: packChanges(changes) };
  },

  settleMaking({ projects, making, place }) {
    renameSync(making, place);
    try {
      syncFolder(dirname(place));
      const link = linkTo(projects, making);
      if (link !== undefined) rmSync(link);
    } catch (error) {
      // Otherwise the next start would find a project that nobody was told of.
      renameSync(place, making);
      throw error;
    }
  },

  dropMaking({ projects, making }) {
    rmSync(making, { recursive: true, force: true });
    const link = linkTo(projects, making);
    if (link !== undefined) rmSync(link, { force: true });
  },
};

/** What the project is to hold, kept in the folder in which it is made. */
export function keepContent(making: string, content: LabContent): void {
  mkdirSync(join(making, TEMPORARY), { recursive: true });
  writeFileSync(join(making, TEMPORARY, CONTENT), JSON.stringify(content));
}

/** What leads from the projects folder to a folder outside of it. */
function linkTo(projects: string, making: string): string | undefined {
  return dirname(making) === projects ? undefined : join(projects, basename(making));
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
