/** Finds, makes and removes project folders in worker threads, for the HTTP thread. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Refusal } from '../../base/errors/errors.js';
import type { TaskTable } from '../../base/threads/task.js';
import { isBelow } from '../../base/disk/path-order.js';
import { makeFolder, syncFolder } from '../../base/disk/published-file.js';
import { placingTasks } from './file-placing.js';
import {
  EXTENSION,
  INCOMING,
  MAKINGS,
  OWN_FOLDER,
  SNAPSHOTS,
  TEMPORARY,
  TRASH,
  WORK,
} from './folder-layout.js';
import { readTopology } from '../gns3-file/reading.js';
import { identifyTopology } from '../gns3-file/format.js';
import { importTopology, type ImportedProject } from '../gns3-file/reading.js';

const OWNER_ONLY = 0o700;
const OLDER_INCOMING = '.incoming';
const OLDER_LEFTOVER = /^\.(deleted|making)-((?:compute-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

export type Finding =
  | { readonly found: 'new'; readonly imported: ImportedProject }
  | {
      readonly found: 'unreadable';
      readonly folder: string;
      readonly filename: string;
      readonly reason: string;
      readonly identity: { readonly projectId: string; readonly name: string } | undefined;
    };

/** A leftover of a version that kept temporary folders among the projects. */
interface OlderLeftover {
  readonly folder: string;
  /** The project that was being made or removed. */
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
  /** Also undoes placings, so it must not run while files are being placed. */
  readonly emptyTemporary: (input: { folder: string }) => void;
  readonly isThere: (input: { path: string }) => boolean;
  /** The first of the folders that is the path, lies in it or contains it, symbolic links resolved. */
  readonly findOverlap: (input: { path: string; folders: readonly string[] }) => string | undefined;
  /** Makes the server's own folders, and removes archives that the last server was receiving. */
  readonly makeOwnFolders: (input: { projects: string }) => void;
  /** Moves the folder completely or not at all. Does nothing when it is not there. */
  readonly moveFolder: (input: { from: string; to: string }) => void;
  readonly removeTree: (input: { folder: string }) => void;
  /** Finds nothing once the server's own folder is there. */
  readonly findOlderLeftovers: (input: { projects: string }) => OlderLeftover[];
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
    makeFolder(folder);
  },

  hasTopology({ folder }) {
    return existsSync(folder) && topologyFilename(folder) !== undefined;
  },

  emptyTemporary({ folder }) {
    placingTasks.undoPlacings({ root: folder });
    for (const name of [TEMPORARY, WORK]) rmSync(join(folder, name), { recursive: true, force: true });
  },

  isThere({ path }) {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  },

  findOverlap({ path, folders }) {
    const own = realPlace(path);
    return folders.find((folder) => {
      const other = realPlace(folder);
      return other === own || isBelow(own, other) || isBelow(other, own);
    });
  },

  makeOwnFolders({ projects }) {
    rmSync(join(projects, INCOMING), { recursive: true, force: true });
    makeOwn(join(projects, OWN_FOLDER));
    chmodSync(join(projects, OWN_FOLDER), OWNER_ONLY);
    for (const name of [TRASH, MAKINGS]) makeOwn(join(projects, name));
    syncFolder(join(projects, OWN_FOLDER));
    syncFolder(projects);
  },

  moveFolder({ from, to }) {
    if (!existsSync(from)) return;
    mkdirSync(dirname(to), { recursive: true });
    renameSync(from, to);
    try {
      syncFolder(dirname(to));
      syncFolder(dirname(from));
    } catch (error) {
      renameSync(to, from);
      throw error;
    }
  },

  removeTree({ folder }) {
    rmSync(folder, { recursive: true, force: true });
  },

  findOlderLeftovers({ projects }) {
    if (existsSync(join(projects, OWN_FOLDER))) return [];
    return readdirSync(projects).flatMap((name): OlderLeftover[] => {
      const folder = join(projects, name);
      if (name === OLDER_INCOMING) return [{ folder, projectId: undefined }];
      const [, kind, projectId = ''] = OLDER_LEFTOVER.exec(name) ?? [];
      if (kind === undefined) return [];
      return kind === 'making' ? halfMade(folder, projectId) : [{ folder, projectId }];
    });
  },

  countSnapshots({ folder }) {
    const snapshots = join(folder, SNAPSHOTS);
    if (!existsSync(snapshots)) return 0;
    const isSnapshot = /(\.(manifest|gns3(snapshot|project))|_\d{6}_\d{6})$/;
    return readdirSync(snapshots).filter((name) => isSnapshot.test(name)).length;
  },
};

/** Replaces anything in its place that is not a folder. */
function makeOwn(folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) rmSync(folder);
  mkdirSync(folder, { recursive: true });
}

/** The path with symbolic links resolved, also when it does not exist yet. */
function realPlace(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const above = dirname(path);
  return above === path ? path : join(realPlace(above), basename(path));
}

/** A symbolic link points to a project's folder outside. That is a leftover, too, unless it has its final name. */
function halfMade(folder: string, projectId: string): OlderLeftover[] {
  if (!lstatSync(folder).isSymbolicLink()) return [{ folder, projectId }];
  const link = { folder, projectId: undefined };
  const made = readlinkSync(folder);
  const isOurs = basename(made) === basename(folder) && existsSync(made);
  return isOurs ? [{ folder: made, projectId }, link] : [link];
}

function findIn(folder: string, filename: string, order: number): Finding {
  let text = '';
  try {
    const bytes = readTopology(join(folder, filename));
    text = bytes.toString('utf8');
    return { found: 'new', imported: importTopology(folder, filename, bytes, order) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const identity = identifyTopology(text);
    return { found: 'unreadable', folder, filename, reason: error.message, identity };
  }
}

/** Prefers the file with the folder's name, so that a copy made by hand beside it is not taken for the project. */
function topologyFilename(folder: string): string | undefined {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(EXTENSION) && entry.name !== EXTENSION)
    .map((entry) => entry.name);
  return names.find((name) => name === `${basename(folder)}${EXTENSION}`) ?? names.sort()[0];
}
