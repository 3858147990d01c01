/**
 * Snapshots of GNS3 1, which are folders with a whole project each. A list shows them as they lie; before one is read, the
 * archive that GNS3 2 would have made of it takes its place. Runs in worker threads.
 */
import { randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { checkGrowth } from '../../base/disk/disk-floor.js';
import {
  createUnpublished,
  discardFile,
  publishFile,
  syncFolder,
  writeWhole,
} from '../../base/disk/published-file.js';
import { FIRST_SNAPSHOT } from '../../lab/gns3-file/older/conversion.js';
import { EXTENSION, WORK } from '../../lab/projects/folder-layout.js';
import type { ZipCursor } from '../archives/zip-cursor.js';
import { firstCursor, nextPiece } from '../archives/zip-pieces.js';
import { writePlan, type PlannedMember } from '../archives/zip-plan.js';
import { freezeFiles } from '../content/frozen-tree.js';
import { isLeftOut } from '../left-out.js';
import { plannedFrozen, portable, ROOT } from './planned-files.js';

const ARCHIVE = '.gns3project';
const MOST_FILES = 500_000;
const FILE_MODE = 0o644;

/** The names of the archives that the folders of this folder will be. */
export function firstSnapshots(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && FIRST_SNAPSHOT.test(entry.name))
    .filter(({ name }) => topologyOf(join(folder, name)) !== undefined)
    .map(({ name }) => `${name}${ARCHIVE}`);
}

/** The folder that the archive of this name is made of. */
export function firstFolder(folder: string, filename: string): string {
  return join(folder, basename(filename, ARCHIVE));
}

/** The length of its files. */
export function firstSize(folder: string, filename: string): number {
  const source = firstFolder(folder, filename);
  return readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + lstatSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Makes the archive, and removes the folder when the disk has it. Refuses (409) a folder that cannot be read. */
export function packFirst(folder: string, filename: string): void {
  const source = firstFolder(folder, filename);
  const work = join(folder, basename(WORK), randomUUID());
  const kept = join(work, 'held');
  mkdirSync(kept, { recursive: true });
  try {
    const topology = topologyOf(source);
    if (topology === undefined) throw refusals.snapshotDamaged('it has no topology file');
    const frozen = freezeFiles(source, kept, { isLeftOut, known: () => undefined, limit: MOST_FILES });
    checkGrowth(folder, frozen.bytes);
    const plan = join(work, 'plan');
    // Links that lead out of the project have no content.
    writePlan(plan, [topologyMember(source, topology), ...portable(plannedFrozen(frozen), [])]);
    const roots = { [ROOT.project]: source, [ROOT.work]: work };
    writeArchive(work, join(folder, filename), firstCursor(plan, roots, 'none', 'none'));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  rmSync(source, { recursive: true });
  syncFolder(folder);
}

/** The name of its topology file. */
function topologyOf(source: string): string | undefined {
  return readdirSync(source, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(EXTENSION))
    .map(({ name }) => name)
    .sort()[0];
}

function topologyMember(source: string, name: string): PlannedMember {
  const { size, mtimeMs: modifiedMs } = lstatSync(join(source, name));
  const content = { file: { root: ROOT.project, path: name } };
  return { path: `project${EXTENSION}`, kind: 'file', mode: FILE_MODE, modifiedMs, content, size };
}

function writeArchive(work: string, target: string, first: ZipCursor): void {
  const file = createUnpublished(work, target);
  try {
    let position = 0;
    for (let cursor: ZipCursor | undefined = first; cursor !== undefined;) {
      const piece = nextPiece(cursor);
      const [fault] = piece.warnings;
      if (fault !== undefined) throw refusals.snapshotDamaged(fault);
      writeWhole(file.fd, piece.bytes, position);
      position += piece.bytes.length;
      cursor = piece.cursor;
    }
  } catch (error) {
    discardFile(file);
    throw error;
  }
  publishFile(file);
}
