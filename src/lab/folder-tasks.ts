/**
 * What is done to project folders on the disk, by worker threads, for the HTTP thread: looking for projects,
 * reading and writing topology files, making and removing folders. Records of a project pass packed, because
 * the HTTP thread only carries them between this and the store.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Refusal, refusals } from '../errors.js';
import type { TaskTable } from '../pool/task.js';
import { containedPath } from '../storage/containment.js';
import { readRegularFile } from '../storage/regular-file.js';
import {
  createUnpublished,
  discardFile,
  publishBytes,
  publishFile,
  syncFolder,
  writeWhole,
} from '../storage/published-file.js';
import type { UnpublishedFile } from '../storage/published-file.js';
import { packChanges, unpackRecords, type Packed } from '../store/packing.js';
import type { Change } from '../store/store.js';
import { withPicture } from './drawing-pictures.js';
import {
  entityChanges,
  fileKey,
  projectKey,
  sortOut,
  versionKey,
  type FileRecord,
  type ProjectRecord,
} from './records.js';
import { identifyTopology, parseTopology, renderTopology, type TopologyContent } from './topology-file.js';

/** Where a topology file is, and what is known of it. */
export interface KnownFile {
  readonly folder: string;
  readonly filename: string;
  readonly digests: readonly string[];
  readonly stamp: string;
}

/** Folders whose project was deleted wait here for their removal; the name is the project's id. */
const TRASH_PREFIX = '.deleted-';
const SNAPSHOTS = 'snapshots';
const TEMPORARY = 'tmp';
const EXTENSION = '.gns3';
const LARGEST_TOPOLOGY = 256 * 1024 * 1024;

export interface ImportedProject {
  readonly projectId: string;
  readonly project: ProjectRecord;
  readonly file: FileRecord;
  /** Makes the store hold what the file says. */
  readonly changes: Packed;
}

export type Inspection =
  { readonly found: 'ours' | 'missing' } | { readonly found: 'outside'; readonly imported: ImportedProject };

export type Finding =
  | { readonly found: 'new'; readonly imported: ImportedProject }
  | {
      readonly found: 'unreadable';
      readonly folder: string;
      readonly filename: string;
      readonly reason: string;
      readonly identity: { readonly projectId: string; readonly name: string } | undefined;
    };

export interface StagedTopology {
  readonly digest: string;
  /** The version of the project that the records were of. */
  readonly version: number;
  /** Undefined when the file on the disk already says the same. */
  readonly file: UnpublishedFile | undefined;
  readonly stamp: string;
  /** Where somebody else's changes of the file were put, if there were any. */
  readonly keptAs: string | undefined;
}

export interface FolderTasks extends TaskTable {
  /** Project folders below `projects` that are not among the known folders. */
  readonly findProjects: (input: { projects: string; known: readonly string[]; order: number }) => Finding[];
  /** Reads the topology file of a project anywhere on this machine. */
  readonly importTopology: (input: { path: string; order: number }) => ImportedProject;
  readonly hasFolder: (input: { folder: string }) => boolean;
  /** Who wrote the topology file: only an unknown digest counts as somebody else. */
  readonly inspectTopology: (input: KnownFile & { order: number }) => Inspection;
  /** Writes what the store held to a file beside the snapshots; returns its path in the project folder. */
  readonly keepTopology: (input: {
    folder: string;
    projectId: string;
    records: Packed;
    gns3Version: string;
    name: string;
  }) => string;
  readonly makeFolder: (input: { folder: string }) => void;
  readonly emptyTemporary: (input: { folder: string }) => void;
  readonly stageTopology: (
    input: Omit<KnownFile, 'stamp'> & {
      projectId: string;
      records: Packed;
      gns3Version: string;
      keptName: string;
    },
  ) => StagedTopology;
  /** Returns the stamp of the file that is now in place. */
  readonly publishTopology: (input: UnpublishedFile) => string;
  readonly discardTopology: (input: UnpublishedFile) => void;
  readonly trashFolder: (input: { folder: string; projectId: string }) => string;
  readonly removeTree: (input: { folder: string }) => void;
  readonly findTrash: (input: { projects: string }) => { folder: string; projectId: string }[];
  readonly countSnapshots: (input: { folder: string }) => number;
}

export const folderTasks: FolderTasks = {
  findProjects({ projects, known, order }) {
    const taken = new Set(known);
    const findings: Finding[] = [];
    for (const entry of readdirSync(projects, { withFileTypes: true })) {
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
    return existsSync(folder) && readdirSync(folder).length > 0;
  },

  inspectTopology({ folder, filename, digests, stamp, order }) {
    const path = join(folder, filename);
    const now = stampOf(path);
    if (now === undefined) return { found: 'missing' };
    if (now === stamp) return { found: 'ours' };
    const bytes = readTopology(path);
    if (digests.includes(digestOf(bytes))) return { found: 'ours' };
    return { found: 'outside', imported: importTopology(folder, filename, bytes, order) };
  },

  keepTopology({ folder, projectId, records, gns3Version, name }) {
    const text = renderTopology(projectId, labRecords(projectId, records), gns3Version);
    return keepBytes(folder, name, Buffer.from(text));
  },

  makeFolder({ folder }) {
    mkdirSync(folder, { recursive: true });
    syncFolder(dirname(folder));
  },

  emptyTemporary({ folder }) {
    rmSync(join(folder, TEMPORARY), { recursive: true, force: true });
  },

  stageTopology({ folder, filename, digests, projectId, records, gns3Version, keptName }) {
    const target = join(folder, filename);
    const lab = labRecords(projectId, records);
    const bytes = Buffer.from(renderTopology(projectId, lab, gns3Version));
    const digest = digestOf(bytes);
    const stamp = stampOf(target);
    const present = stamp === undefined ? undefined : readTopology(target);
    const presentDigest = present === undefined ? undefined : digestOf(present);
    const staged = { digest, version: lab.version, file: undefined, stamp: stamp ?? '', keptAs: undefined };
    if (presentDigest === digest) return staged;
    let keptAs: string | undefined;
    if (present !== undefined && presentDigest !== undefined && !digests.includes(presentDigest)) {
      keptAs = keepBytes(folder, keptName, present);
    }
    const file = createUnpublished(containedPath(folder, TEMPORARY), target);
    try {
      writeWhole(file.fd, bytes, 0);
    } catch (error) {
      discardFile(file);
      throw error;
    }
    return { ...staged, file, keptAs };
  },

  publishTopology(file) {
    publishFile(file);
    return stampOf(file.target) ?? '';
  },

  discardTopology: discardFile,

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
    return readdirSync(projects)
      .filter((name) => name.startsWith(TRASH_PREFIX))
      .map((name) => ({ folder: join(projects, name), projectId: name.slice(TRASH_PREFIX.length) }));
  },

  countSnapshots({ folder }) {
    const snapshots = join(folder, SNAPSHOTS);
    if (!existsSync(snapshots)) return 0;
    return readdirSync(snapshots).filter((name) => /\.gns3(snapshot|project)$/.test(name)).length;
  },
};

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

function importTopology(folder: string, filename: string, bytes: Buffer, order: number): ImportedProject {
  const path = join(folder, filename);
  const content = parseTopology(bytes.toString('utf8'), path);
  const { projectId } = content;
  const project: ProjectRecord = {
    order,
    path: folder,
    filename,
    settings: content.settings,
    computes: content.computes,
  };
  const file: FileRecord = { digests: [digestOf(bytes)], stamp: stampOf(path) ?? '', version: 0 };
  const changes: Change[] = [
    { put: projectKey(projectId), value: project },
    { put: fileKey(projectId), value: file },
    { put: versionKey(projectId), value: file.version },
    ...contentChanges(folder, content),
  ];
  return { projectId, project, file, changes: packChanges(changes) };
}

function contentChanges(folder: string, { projectId, nodes, links, drawings }: TopologyContent): Change[] {
  const pictured = drawings.map((drawing) => withPicture(folder, drawing));
  return [
    ...entityChanges(
      projectId,
      'node',
      nodes.map((node) => [node.node_id, node]),
    ),
    ...entityChanges(
      projectId,
      'link',
      links.map((link) => [link.link_id, link]),
    ),
    ...entityChanges(
      projectId,
      'drawing',
      pictured.map((drawing) => [drawing.drawing_id, drawing]),
    ),
  ];
}

function keepBytes(folder: string, name: string, bytes: Uint8Array): string {
  mkdirSync(containedPath(folder, SNAPSHOTS), { recursive: true });
  const target = containedPath(folder, join(SNAPSHOTS, name));
  publishBytes(containedPath(folder, TEMPORARY), target, bytes);
  return join(SNAPSHOTS, name);
}

function labRecords(projectId: string, packed: Packed): NonNullable<ReturnType<typeof sortOut>> {
  const records = sortOut(unpackRecords(packed));
  if (records === undefined) throw refusals.projectUnknown(projectId);
  return records;
}

/** The folder's own name first, so that a copy made by hand beside it is not mistaken for the project. */
function topologyFilename(folder: string): string | undefined {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(EXTENSION) && entry.name !== EXTENSION)
    .map((entry) => entry.name);
  return names.find((name) => name === `${basename(folder)}${EXTENSION}`) ?? names.sort()[0];
}

function readTopology(path: string): Buffer {
  return readRegularFile(path, LARGEST_TOPOLOGY);
}

function stampOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found?.isFile() === true ? `${found.size}:${found.mtimeNs}:${found.ino}` : undefined;
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}
