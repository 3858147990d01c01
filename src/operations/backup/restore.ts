/**
 * Restores a backup from its archive into a folder that has nothing yet, without a server. Everything is checked and built
 * beside the folder first; the folder gets its name at the end, or does not exist.
 */
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { z } from 'zod';
import { lockFolders } from '../../base/disk/folder-lock.js';
import { makeFolder, syncFolder } from '../../base/disk/published-file.js';
import { syncTree } from '../../base/disk/tree-sync.js';
import { messageOf } from '../../base/errors/errors.js';
import { JournalStore } from '../../base/store/journal-store.js';
import { unpackRecords } from '../../base/store/packing.js';
import type { Change, StoredRecord } from '../../base/store/store.js';
import { SNAPSHOTS } from '../../lab/projects/folder-layout.js';
import { PROJECT_RECORDS, projectKey, type ProjectRecord } from '../../lab/projects/records.js';
import { ContentStore } from '../../snapshots/content/content-store.js';
import { JobProgress } from '../../snapshots/content/job-progress.js';
import { readManifest } from '../../snapshots/content/manifest.js';
import {
  isMember,
  MANIFEST,
  objectPath,
  parseBackup,
  partFolder,
  type BackedProject,
  type BackupManifest,
  type LeftOutProject,
} from './backup-form.js';
import { digestOfFile } from './backup-objects.js';

/** A backup that has been restored. */
interface Restored {
  readonly backupId: string;
  readonly createdAt: string;
  readonly projects: number;
  /** Nodes whose files are those of a machine that has crashed, each as `project/node`. */
  readonly crashConsistent: readonly string[];
  /** Projects that the backup is without. */
  readonly leftOut: readonly LeftOutProject[];
}

const OWN = 0o700;
const CHANGES_A_COMMIT = 1000;
/** These tell of what is not there: nodes that ran, projects that were being made or deleted, lines of the audit, a farm. */
const OF_THE_HOST = ['running', 'aside', 'audit', 'in-farm', 'carried'];
/** Captures that ran have ended, and memory that was saved at a stop fits no other host. */
const OF_THE_RUN = ['capture', 'saved', 'exchange', 'home'];

/** Throws an error whose message is for whoever asks: it says where the archive is cut or altered. */
export async function restoreBackup(file: string, data: string): Promise<Restored> {
  const target = resolve(data);
  checkTarget(target);
  makeFolder(dirname(target));
  const work = mkdtempSync(join(dirname(target), `.${basename(target)}.restoring-`));
  try {
    const folder = join(work, 'backup');
    mkdirSync(folder);
    await unpack(file, folder);
    const made = manifestIn(file, folder);
    const built = join(work, 'data');
    mkdirSync(built, { mode: OWN });
    build(made, { file, folder, built, target });
    checkTarget(target);
    renameSync(built, target);
    syncFolder(dirname(target));
    return {
      backupId: made.backup_id,
      createdAt: made.created_at,
      projects: made.projects.length,
      crashConsistent: made.projects.flatMap(({ name, crash_consistent: nodes }) =>
        nodes.map((node) => `${name}/${node}`),
      ),
      leftOut: made.left_out ?? [],
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function checkTarget(target: string): void {
  if (!existsSync(target)) return;
  if (readdirSync(target).length > 0)
    throw new Error(`${target} is not empty: a backup is restored into a folder that has nothing yet`);
  lockFolders([target]);
}

/** Unpacks the archive. Nothing of it leaves the folder: members have names of backups. */
async function unpack(file: string, folder: string): Promise<void> {
  const reading = extract();
  let place = 'its beginning';
  const unpacking = (async () => {
    for await (const entry of reading) {
      const { name, type } = entry.header;
      place = name;
      if (type !== 'file' || !isMember(name) || existsSync(join(folder, name)))
        throw new Error(`${name} is no part of a backup`);
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      await pipeline(entry as unknown as Readable, createWriteStream(join(folder, name), { flags: 'wx' }));
    }
  })();
  try {
    await Promise.all([pipeline(createReadStream(file), reading), unpacking]);
  } catch (error) {
    throw new Error(`${file} is cut or altered, at ${place}: ${messageOf(error)}`, { cause: error });
  }
}

function manifestIn(file: string, folder: string): BackupManifest {
  const path = join(folder, MANIFEST);
  if (!existsSync(path)) throw new Error(`${file} is no backup, or is cut: it has no ${MANIFEST}`);
  try {
    return parseBackup(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${file} is altered, at ${MANIFEST}: ${messageOf(error)}`, { cause: error });
  }
}

interface Building {
  readonly file: string;
  /** The folder of the unpacked archive. */
  readonly folder: string;
  readonly built: string;
  /** The name that `built` will have. */
  readonly target: string;
}

function build(made: BackupManifest, place: Building): void {
  const { folder, built } = place;
  for (const name of ['projects', 'images', 'state']) mkdirSync(join(built, name), { mode: OWN });
  const records = readObject(place, made.records, 'the records of the store');
  const store = new JournalStore(join(built, 'state'));
  try {
    const isGlobal = ({ key: [first = ''] }: StoredRecord): boolean =>
      !OF_THE_HOST.includes(first) && !PROJECT_RECORDS.includes(first);
    commit(store, unpackRecords(records).filter(isGlobal));
    for (const project of made.projects) commit(store, buildProject(made, project, place));
  } finally {
    store.close();
  }
  placeFiles(made, place);
  syncTree(
    built,
    foldersOf(made),
    made.files.map(({ path }) => path),
  );
  syncFolder(folder);
}

/** Builds the folder of a project. Returns its records. */
function buildProject(made: BackupManifest, project: BackedProject, place: Building): StoredRecord[] {
  const { built, target } = place;
  const part = (kind: Parameters<typeof partFolder>[0], to: string): unknown => {
    const folder = join(place.folder, partFolder(kind, project.project_id));
    try {
      const { topology, tree } = readManifest(folder, made.backup_id);
      new ContentStore(folder).build(tree, to, new JobProgress());
      return topology;
    } catch (error) {
      throw new Error(
        `${place.file} is cut or altered, at the project ${project.name}: ${messageOf(error)}`,
        {
          cause: error,
        },
      );
    }
  };
  const folder = join(built, 'projects', project.folder);
  const packed = z.base64().parse(part('projects', folder));
  mkdirSync(join(folder, 'project-files'), { recursive: true });
  if (project.has_snapshots) part('project-snapshots', join(folder, SNAPSHOTS));
  const own = projectKey(project.project_id).join('/');
  return unpackRecords(Buffer.from(packed, 'base64')).flatMap((record): StoredRecord[] => {
    const { key, value } = record;
    if (OF_THE_RUN.includes(key[2] ?? '')) return [];
    if (key.join('/') !== own) return [record];
    const path = join(target, 'projects', project.folder);
    return [{ key, value: { ...(value as ProjectRecord), path } }];
  });
}

/** The object with this digest. Throws when it is missing or another. */
function readObject(place: Building, digest: string, what: string): Buffer {
  checkObject(place, digest, what);
  return readFileSync(objectPath(place.folder, digest));
}

function checkObject({ file, folder }: Building, digest: string, what: string): void {
  const path = objectPath(folder, digest);
  if (!existsSync(path)) throw new Error(`${file} is cut: ${what} is missing`);
  if (digestOfFile(path, new JobProgress()).digest !== digest)
    throw new Error(`${file} is altered, at ${what}: its content is another`);
}

function placeFiles({ files }: BackupManifest, place: Building): void {
  for (const { path, digest, mode, modified_ms: modified } of files) {
    checkObject(place, digest, path);
    const to = join(place.built, path);
    mkdirSync(dirname(to), { recursive: true });
    // Two files with the same content stay two files.
    copyFileSync(objectPath(place.folder, digest), to);
    chmodSync(to, mode);
    utimesSync(to, modified / 1000, modified / 1000);
  }
}

/** All folders of the files, parents first. */
function foldersOf({ files }: BackupManifest): string[] {
  const folders = new Set<string>(['projects', 'images', 'state']);
  for (const { path } of files) {
    const parts = path.split('/').slice(0, -1);
    parts.forEach((_part, index) => folders.add(parts.slice(0, index + 1).join('/')));
  }
  return [...folders];
}

function commit(store: JournalStore, records: readonly StoredRecord[]): void {
  for (let from = 0; from < records.length; from += CHANGES_A_COMMIT) {
    const changes = records
      .slice(from, from + CHANGES_A_COMMIT)
      .map(({ key, value }): Change => ({ put: key, value }));
    store.commit(changes);
  }
}
