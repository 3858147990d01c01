/** Snapshots that GNS3 made, as GNS3 stores them: archives beside an index, or folders. Runs in worker threads. */
import { lstatSync, readdirSync, rmSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import { publishBytes, syncFolder } from '../../base/disk/published-file.js';
import { readRegularFile } from '../../base/disk/regular-file.js';
import { idInCopy } from '../lab-content.js';
import { newSnapshot, type Snapshot } from '../snapshot.js';
import { firstFolder, firstSize, firstSnapshots, packFirst } from './first-snapshots.js';

const INDEX = 'snapshots.conf';
const LARGEST_INDEX = 4 * 1024 * 1024;
/** GNS3 once had no index: then the names of the archives have the name and time of the snapshot. */
const LEGACY = /^(.+)_(\d{2})(\d{2})(\d{2})_(\d{2})(\d{2})(\d{2})\.gns3project$/;

const entry = z.looseObject({
  snapshot_id: z.string(),
  name: z.string(),
  created_at: z.int(),
  description: z.string(),
  filename: z.string(),
});

type IndexEntry = z.output<typeof entry>;

/** The snapshots whose archives exist. Refuses (409) an index that cannot be read. */
export function findGns3Snapshots(folder: string, projectId: string): Snapshot[] {
  const entries = readIndex(folder);
  if (entries.length === 0) return findLegacy(folder, projectId);
  return entries
    .filter(({ filename }) => archiveStats(folder, filename) !== undefined)
    .map(({ snapshot_id, name, created_at, description, filename }) => ({
      snapshot_id,
      name,
      created_at,
      description,
      filename,
      project_id: projectId,
    }));
}

/** The absolute path of the archive, which is made of a folder if need be. Refuses (409) a missing one. */
export function gns3Archive(folder: string, { filename }: Snapshot): string {
  if (isFolderStill(folder, filename)) packFirst(folder, filename);
  if (archiveStats(folder, filename) === undefined)
    throw refusals.snapshotDamaged('its archive is not there');
  return join(folder, filename);
}

export function archiveSize(folder: string, { filename }: Snapshot): number {
  if (isFolderStill(folder, filename)) return firstSize(folder, filename);
  return archiveStats(folder, filename)?.size ?? 0;
}

/** Removes it from the index first, so that none is listed without its archive. */
export function removeGns3Snapshot(folder: string, snapshot: Snapshot): void {
  const entries = readIndex(folder);
  const left = entries.filter(({ snapshot_id: id }) => id !== snapshot.snapshot_id);
  if (left.length < entries.length) {
    const text = JSON.stringify(left, undefined, 4);
    publishBytes(join(folder, '.work'), join(folder, INDEX), Buffer.from(text));
  }
  rmSync(join(folder, snapshot.filename), { force: true });
  if (isFolderStill(folder, snapshot.filename))
    rmSync(firstFolder(folder, snapshot.filename), { recursive: true });
  syncFolder(folder);
}

function readIndex(folder: string): IndexEntry[] {
  let text: string;
  try {
    text = readRegularFile(join(folder, INDEX), LARGEST_INDEX).toString('utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw refusals.snapshotIndexUnreadable();
  }
  let found: unknown;
  try {
    found = text.trim() === '' ? [] : JSON.parse(text);
  } catch {
    throw refusals.snapshotIndexUnreadable();
  }
  if (!Array.isArray(found)) throw refusals.snapshotIndexUnreadable();
  // Entries stay as they are, because they may be written back.
  return found.filter((value): value is IndexEntry => entry.safeParse(value).success);
}

/** The ids are derived from the file names, so that they stay the same. */
function findLegacy(folder: string, projectId: string): Snapshot[] {
  const archives = namesIn(folder).filter((filename) => archiveStats(folder, filename) !== undefined);
  return [...new Set([...archives, ...foldersIn(folder)])].flatMap((filename) => {
    const parts = LEGACY.exec(filename);
    if (parts === null) return [];
    const [, name = '', day, month, year, hour, minute, second] = parts;
    const taken = new Date(`20${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
    if (Number.isNaN(taken.getTime())) return [];
    const ids = { snapshotId: idInCopy(projectId, filename), projectId };
    return [{ ...newSnapshot(ids, name, undefined, taken), filename }];
  });
}

function namesIn(folder: string): string[] {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(folder) : [];
}

function foldersIn(folder: string): string[] {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? firstSnapshots(folder) : [];
}

/** Whether no archive has been made of the folder yet. */
function isFolderStill(folder: string, filename: string): boolean {
  return archiveStats(folder, filename) === undefined && foldersIn(folder).includes(filename);
}

/** Undefined if the name, which may come from the index, is no file in this folder. */
function archiveStats(folder: string, filename: string): Stats | undefined {
  const isName = /^[^/\\\0]+\.gns3(snapshot|project)$/.test(filename);
  const found = isName ? lstatSync(join(folder, filename), { throwIfNoEntry: false }) : undefined;
  return found?.isFile() === true ? found : undefined;
}
