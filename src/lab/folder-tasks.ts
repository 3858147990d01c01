/** Finding, making and removing project folders, by worker threads, for the HTTP thread. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Refusal } from '../errors.js';
import type { TaskTable } from '../pool/task.js';
import { syncFolder } from '../storage/published-file.js';
import {
  EXTENSION,
  INCOMING,
  MAKING_PREFIX,
  SNAPSHOTS,
  TEMPORARY,
  TRASH_PREFIX,
  WORK,
} from './folder-layout.js';
import { readTopology } from './topology-disk.js';
import { identifyTopology } from './topology-file.js';
import { importTopology, type ImportedProject } from './topology-import.js';

export type Finding =
  | { readonly found: 'new'; readonly imported: ImportedProject }
  | {
      readonly found: 'unreadable';
      readonly folder: string;
      readonly filename: string;
      readonly reason: string;
      readonly identity: { readonly projectId: string; readonly name: string } | undefined;
    };

export interface Trash {
  readonly folder: string;
  readonly projectId: string | undefined;
}

export interface FolderTasks extends TaskTable {
  /** Project folders below `projects` that are not among the known folders, by name. */
  readonly findProjects: (input: { projects: string; known: readonly string[]; order: number }) => Finding[];
  /** Reads the topology file of a project anywhere on this machine. */
  readonly importTopology: (input: { path: string; order: number }) => ImportedProject;
  readonly hasFolder: (input: { folder: string }) => boolean;
  readonly hasFilledFolder: (input: { folder: string }) => boolean;
  readonly makeFolder: (input: { folder: string }) => void;
  /** Whether the folder may be a project's. */
  readonly hasTopology: (input: { folder: string }) => boolean;
  readonly emptyTemporary: (input: { folder: string }) => void;
  /** Puts the folder aside in one step; returns where. */
  readonly trashFolder: (input: { folder: string; projectId: string }) => string;
  readonly removeTree: (input: { folder: string }) => void;
  /** What is to be removed, and what is to be forgotten with it. */
  readonly findTrash: (input: { projects: string }) => Trash[];
  readonly countSnapshots: (input: { folder: string }) => number;
}

export const folderTasks: FolderTasks = {
  findProjects({ projects, known, order }) {
    const taken = new Set(known);
    const findings: Finding[] = [];
    const entries = readdirSync(projects, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const folder = join(projects, entry.name);
      if (!entry.isDirectory() || entry.name.startsWith('.') || taken.has(folder)) continue;
      const filename = topologyFilename(folder);
      if (filename !== undefined) findings.push(findIn(folder, filename, order + findings.length));
    }
    return findings;
  },

  importTopology({ path, order }) {
    return importTopology(dirname(path), basename(path), readTopology(path), order);
  },

  hasFolder({ folder }) {
    return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  },

  hasFilledFolder({ folder }) {
    return existsSync(folder) && readdirSync(folder).length > 0;
  },

  makeFolder({ folder }) {
    mkdirSync(folder, { recursive: true });
    syncFolder(dirname(folder));
  },

  hasTopology({ folder }) {
    return existsSync(folder) && topologyFilename(folder) !== undefined;
  },

  emptyTemporary({ folder }) {
    for (const name of [TEMPORARY, WORK]) rmSync(join(folder, name), { recursive: true, force: true });
  },

  trashFolder({ folder, projectId }) {
    const trash = join(dirname(folder), `${TRASH_PREFIX}${projectId}`);
    if (!existsSync(folder)) return trash;
    rmSync(trash, { recursive: true, force: true });
    renameSync(folder, trash);
    syncFolder(dirname(folder));
    return trash;
  },

  removeTree({ folder }) {
    rmSync(folder, { recursive: true, force: true });
  },

  findTrash({ projects }) {
    return readdirSync(projects).flatMap((name): Trash[] => {
      const folder = join(projects, name);
      if (name === INCOMING) return [{ folder, projectId: undefined }];
      if (name.startsWith(TRASH_PREFIX)) return [{ folder, projectId: name.slice(TRASH_PREFIX.length) }];
      return name.startsWith(MAKING_PREFIX) ? halfMade(folder, name.slice(MAKING_PREFIX.length)) : [];
    });
  },

  countSnapshots({ folder }) {
    const snapshots = join(folder, SNAPSHOTS);
    if (!existsSync(snapshots)) return 0;
    return readdirSync(snapshots).filter((name) => /\.(manifest|gns3(snapshot|project))$/.test(name)).length;
  },
};

/** A link leads to where the project was to lie; where nothing is left of that, it has its place. */
function halfMade(folder: string, projectId: string): Trash[] {
  if (!lstatSync(folder).isSymbolicLink()) return [{ folder, projectId }];
  const link = { folder, projectId: undefined };
  const made = readlinkSync(folder);
  const isOurs = basename(made) === basename(folder) && existsSync(made);
  return isOurs ? [{ folder: made, projectId }, link] : [link];
}

function findIn(folder: string, filename: string, order: number): Finding {
  const bytes = readTopology(join(folder, filename));
  try {
    return { found: 'new', imported: importTopology(folder, filename, bytes, order) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const identity = identifyTopology(bytes.toString('utf8'));
    return { found: 'unreadable', folder, filename, reason: error.message, identity };
  }
}

/** The folder's own name first, so that a copy made by hand beside it is not mistaken for the project. */
function topologyFilename(folder: string): string | undefined {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(EXTENSION) && entry.name !== EXTENSION)
    .map((entry) => entry.name);
  return names.find((name) => name === `${basename(folder)}${EXTENSION}`) ?? names.sort()[0];
}
