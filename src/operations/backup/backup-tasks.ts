/** Makes, reads and removes backups; the job threads run it for the HTTP thread. */
import { existsSync, mkdirSync, readdirSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, publishBytes, syncFolder } from '../../base/disk/published-file.js';
import { readRegularFile } from '../../base/disk/regular-file.js';
import { messageOf, Refusal, refusals } from '../../base/errors/errors.js';
import { unpackRecords } from '../../base/store/packing.js';
import type { Packed } from '../../base/store/store.js';
import type { TaskTable } from '../../base/threads/task.js';
import { ContentStore } from '../../snapshots/content/content-store.js';
import { JobProgress } from '../../snapshots/content/job-progress.js';
import { manifestIds, manifestName, readManifest, removeManifest } from '../../snapshots/content/manifest.js';
import {
  BACKUP_WORK,
  MANIFEST,
  manifestText,
  objectPath,
  OBJECTS,
  parseBackup,
  partFolder,
  RECORDS_FILE,
  type BackedFile,
  type BackedProject,
  type BackupManifest,
  type LeftOutProject,
  type PartKind,
} from './backup-form.js';
import { addFiles, addObject, collectFiles, digestOfFile, type BackupSource } from './backup-objects.js';
import { forgetPart, freezePart, storePart, type PartPlace } from './backup-parts.js';

/** A backup as lists have it. */
export interface BackupSummary {
  readonly backup_id: string;
  readonly created_at: string;
  readonly version: string;
  readonly projects: number;
  readonly size: number;
  readonly added: number;
  /** Nodes that could not be held, each as `project/node`. */
  readonly crash_consistent: readonly string[];
  readonly left_out: readonly LeftOutProject[];
}

interface BackupDamage {
  readonly path: string;
  readonly reason: string;
}

export interface FoundDamage {
  readonly faults: number;
  /** The first faults. */
  readonly damaged: readonly BackupDamage[];
}

/** A file of a backup, and the name that it has in an archive. */
interface BackupMember {
  readonly path: string;
  readonly memberPath: string;
}

interface InBackups {
  readonly folder: string;
}

export interface BackupTasks extends TaskTable {
  /** Makes the folder, and removes what an interrupted backup has left. Returns the id of the newest backup. */
  readonly beginBackup: (input: InBackups) => string | undefined;
  readonly freezePart: (
    input: PartPlace & {
      readonly earlierId: string | undefined;
      readonly written: readonly string[];
      readonly changing: readonly string[];
    },
  ) => void;
  /** `images` are those into which machines of the project write themselves. */
  readonly storePart: (
    input: PartPlace & { readonly records: Packed; readonly progress: SharedArrayBuffer },
  ) => {
    readonly size: number;
    readonly added: number;
    readonly hasSnapshots: boolean;
    readonly images: string[];
  };
  readonly forgetPart: (input: PartPlace) => void;
  /** Adds the files of the sources, and the records that lie at `records`; then publishes the manifest. */
  readonly finishBackup: (
    input: InBackups & {
      readonly earlierId: string | undefined;
      readonly sources: readonly BackupSource[];
      readonly writtenImages: readonly string[];
      readonly head: Pick<BackupManifest, 'backup_id' | 'created_at' | 'version'>;
      readonly projects: readonly BackedProject[];
      readonly leftOut: readonly LeftOutProject[];
      readonly size: number;
      readonly added: number;
      readonly progress: SharedArrayBuffer;
    },
  ) => void;
  readonly listBackups: (input: InBackups) => { backups: BackupSummary[]; damaged: string[] };
  /** Whether there is such a backup, damaged or not. */
  readonly hasBackup: (input: InBackups & { readonly id: string }) => boolean;
  readonly listMembers: (input: InBackups & { readonly id: string }) => BackupMember[];
  /** Reads all of a backup. */
  readonly verifyBackup: (
    input: InBackups & { readonly id: string; readonly progress: SharedArrayBuffer },
  ) => FoundDamage;
  /** Removes backups, and what no other one needs. */
  readonly deleteBackups: (input: InBackups & { readonly ids: readonly string[] }) => void;
}

const MOST_TOLD = 100;
const LARGEST_MANIFEST = 512 * 1024 * 1024;
const NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json$/;
const FOR_THE_SERVER = 0o700;

export const backupTasks: BackupTasks = {
  beginBackup({ folder }) {
    makeFolder(folder);
    if (existsSync(join(folder, BACKUP_WORK))) {
      rmSync(join(folder, BACKUP_WORK), { recursive: true });
      collect(folder);
    }
    for (const name of [BACKUP_WORK, OBJECTS])
      mkdirSync(join(folder, name), { recursive: true, mode: FOR_THE_SERVER });
    return summaries(folder).backups.at(-1)?.backup_id;
  },

  freezePart({ earlierId, written, changing, ...place }) {
    freezePart(place, earlierId, { written, changing });
  },

  storePart({ records, progress, ...place }) {
    const stored = storePart(place, records, new JobProgress(progress));
    forgetPart(place);
    return { ...stored, images: writtenImages(records) };
  },

  forgetPart(place) {
    forgetPart(place);
  },

  finishBackup({ folder, earlierId, sources, writtenImages, head, projects, leftOut, progress, ...sums }) {
    const counted = new JobProgress(progress);
    const records = addObject(folder, join(folder, RECORDS_FILE), false, counted);
    const earlier = earlierId === undefined ? [] : earlierFiles(folder, earlierId);
    const written = new Set(writtenImages);
    const { files, added } = addFiles(folder, sources, { earlier, written }, counted);
    const size = sums.size + records.size + files.reduce((sum, file) => sum + file.size, 0);
    const made: BackupManifest = {
      ...{ format: 1, ...head, records: records.digest, size },
      added: sums.added + added + (records.isNew ? records.size : 0),
      files,
      projects: [...projects],
      ...(leftOut.length === 0 ? {} : { left_out: [...leftOut] }),
    };
    counted.advance(0);
    publishBytes(
      join(folder, BACKUP_WORK),
      join(folder, `${head.backup_id}.json`),
      Buffer.from(manifestText(made)),
    );
    rmSync(join(folder, BACKUP_WORK), { recursive: true, force: true });
  },

  listBackups({ folder }) {
    return summaries(folder);
  },

  hasBackup({ folder, id }) {
    return NAME.test(`${id}.json`) && existsSync(join(folder, `${id}.json`));
  },

  listMembers({ folder, id }) {
    const { records, files, projects } = read(folder, id);
    const members: BackupMember[] = [{ path: `${id}.json`, memberPath: MANIFEST }];
    const add = (path: string): void => {
      members.push({ path, memberPath: path });
    };
    for (const digest of new Set([records, ...files.map((file) => file.digest)])) add(`${OBJECTS}/${digest}`);
    for (const [part] of partsOf(projects)) {
      add(`${part}/${manifestName(id)}`);
      const { tree } = readManifest(join(folder, part), id);
      const objects = tree.files.flatMap(({ extents }) => extents.map(({ object }) => object));
      for (const object of new Set(objects)) add(`${part}/content/${object}`);
    }
    return members;
  },

  verifyBackup({ folder, id, progress }) {
    const counted = new JobProgress(progress);
    let made: BackupManifest;
    try {
      made = read(folder, id);
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) throw error;
      return { faults: 1, damaged: [{ path: `${id}.json`, reason: messageOf(error) }] };
    }
    counted.expect(made.size);
    const damaged = [...damagedFiles(folder, made, counted), ...damagedParts(folder, made, counted)];
    return { faults: damaged.length, damaged: damaged.slice(0, MOST_TOLD) };
  },

  deleteBackups({ folder, ids }) {
    for (const id of ids) {
      const path = join(folder, `${id}.json`);
      if (existsSync(path)) unlinkSync(path);
    }
    syncFolder(folder);
    collect(folder);
  },
};

function* damagedFiles(folder: string, made: BackupManifest, progress: JobProgress): Generator<BackupDamage> {
  const records = { path: 'the records of the store', digest: made.records };
  const checked = new Map<string, string | undefined>();
  for (const { path, digest } of [records, ...made.files]) {
    if (!checked.has(digest)) checked.set(digest, objectFault(folder, digest, progress));
    const reason = checked.get(digest);
    if (reason !== undefined) yield { path, reason };
  }
}

function objectFault(folder: string, digest: string, progress: JobProgress): string | undefined {
  const path = objectPath(folder, digest);
  if (!existsSync(path)) return 'it is missing';
  return digestOfFile(path, progress).digest === digest ? undefined : 'its content is another';
}

function* damagedParts(folder: string, made: BackupManifest, progress: JobProgress): Generator<BackupDamage> {
  for (const [part, project] of partsOf(made.projects)) {
    const named = (path: string): string => `${project.name}: ${path}`;
    try {
      const { tree } = readManifest(join(folder, part), made.backup_id);
      for (const { path, reason } of new ContentStore(join(folder, part)).verify(tree, progress))
        yield { path: named(path), reason };
    } catch (error) {
      if (!(error instanceof Refusal) || error.code === 'job_cancelled') throw error;
      yield { path: named(manifestName(made.backup_id)), reason: error.message };
    }
  }
}

/** The folders of the parts, with their projects. */
function* partsOf(projects: readonly BackedProject[]): Generator<[part: string, project: BackedProject]> {
  for (const project of projects) {
    const kinds: readonly PartKind[] = project.has_snapshots
      ? ['projects', 'project-snapshots']
      : ['projects'];
    for (const kind of kinds) yield [partFolder(kind, project.project_id), project];
  }
}

/** Refuses (404) an unknown id, and (409) a damaged manifest. */
function read(folder: string, id: string): BackupManifest {
  const path = join(folder, `${id}.json`);
  if (!NAME.test(`${id}.json`) || !existsSync(path)) throw refusals.backupUnknown(id);
  try {
    return parseBackup(readRegularFile(path, LARGEST_MANIFEST).toString());
  } catch (error) {
    throw refusals.backupDamaged(`${id}.json`, messageOf(error));
  }
}

/** Ordered by age. */
function summaries(folder: string): { backups: BackupSummary[]; damaged: string[] } {
  const backups: BackupSummary[] = [];
  const damaged: string[] = [];
  for (const id of idsIn(folder)) {
    try {
      backups.push(summaryOf(read(folder, id)));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      damaged.push(id);
    }
  }
  backups.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
  return { backups, damaged };
}

function summaryOf(made: BackupManifest): BackupSummary {
  const { backup_id, created_at, version, size, added, projects, left_out = [] } = made;
  const unheld = projects.flatMap(({ name, crash_consistent: nodes }) =>
    nodes.map((node) => `${name}/${node}`),
  );
  const counted = { projects: projects.length, size, added };
  return { backup_id, created_at, version, ...counted, crash_consistent: unheld, left_out };
}

function idsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => NAME.exec(name)?.[1] ?? []);
}

function earlierFiles(folder: string, id: string): readonly BackedFile[] {
  return read(folder, id).files;
}

/**
 * Removes what no backup needs, also what an interrupted one has left. While a manifest cannot be read nothing is removed,
 * since it is not known what it needs.
 */
function collect(folder: string): void {
  const ids = idsIn(folder);
  const kept = ids.map((id) => {
    try {
      return read(folder, id);
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  });
  const objects = new Set<string>();
  for (const made of kept) {
    if (made === undefined) return;
    for (const { digest } of [{ digest: made.records }, ...made.files]) objects.add(digest);
  }
  collectFiles(folder, objects);
  for (const kind of ['projects', 'project-snapshots'] as const) {
    for (const projectId of existsSync(join(folder, kind)) ? readdirSync(join(folder, kind)) : []) {
      const part = join(folder, partFolder(kind, projectId));
      for (const id of manifestIds(part)) if (!ids.includes(id)) removeManifest(part, id);
      if (manifestIds(part).length === 0) rmSync(part, { recursive: true, force: true });
      else new ContentStore(part).collect();
    }
  }
}

/** The names of the images into which machines write themselves, because they are no linked clones. */
function writtenImages(records: Packed): string[] {
  return unpackRecords(records).flatMap(({ value }) => {
    const { object } = (value ?? {}) as { object?: { linked_clone?: unknown; properties?: object } };
    const properties: object = { ...object, ...object?.properties };
    if ((properties as { linked_clone?: unknown }).linked_clone !== false) return [];
    return Object.values(properties).flatMap((text) =>
      typeof text === 'string' ? [text.slice(text.lastIndexOf('/') + 1)] : [],
    );
  });
}
