/**
 * Whole files in the folder of backups, named by their SHA-256: images, symbols, base configurations and records. Runs in a
 * worker thread.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { cloneFile } from '../../base/disk/linux-files.js';
import { syncFolder } from '../../base/disk/published-file.js';
import { openRegularFile, versionOf } from '../../base/disk/regular-file.js';
import { isRefusal, refusals, systemCode } from '../../base/errors/errors.js';
import { copyFile } from '../../snapshots/content/copied-file.js';
import type { JobProgress } from '../../snapshots/content/job-progress.js';
import { BACKUP_WORK, objectPath, OBJECTS, type BackedFile } from './backup-form.js';

/** A folder whose files are backed up, by the name that it has in a backup. */
export interface BackupSource {
  readonly name: string;
  readonly path: string;
  /** Whether its files are replaced and never written into, so that a second name keeps their content. */
  readonly isReplaced: boolean;
}

interface AddedFiles {
  readonly files: BackedFile[];
  readonly added: number;
}

const PIECE = 1024 * 1024;
const FOR_THE_SERVER = 0o600;
const PERMISSIONS = 0o777;
const MOST_FILES = 500_000;
const DEEPEST = 16;
/** A file that is replaced so often while it is read is damaged by somebody. */
const MOST_TRIES = 3;
const GONE = ['ENOENT', 'ENOTDIR'];
const NOT_LINKED = ['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EACCES'];

/** Adds all files of the sources. Those that `earlier` has in the same version are not read. */
export function addFiles(
  folder: string,
  sources: readonly BackupSource[],
  { earlier, written }: { earlier: readonly BackedFile[]; written: ReadonlySet<string> },
  progress: JobProgress,
): AddedFiles {
  const known = new Map(earlier.map((file) => [file.path, file]));
  const files: BackedFile[] = [];
  let added = 0;
  for (const source of sources) {
    for (const path of filesBelow(source.path)) {
      const name = `${source.name}/${path}`;
      const isLinked = source.isReplaced && !written.has(name.slice(name.lastIndexOf('/') + 1));
      const file = addFile(
        folder,
        join(source.path, path),
        { name, isLinked, before: known.get(name) },
        progress,
      );
      if (file === undefined) continue;
      files.push(file.backed);
      added += file.added;
      if (files.length > MOST_FILES) throw refusals.tooMany('files in this backup', MOST_FILES);
    }
  }
  syncFolder(join(folder, OBJECTS));
  return { files, added };
}

/** Adds a file; undefined for one that has gone meanwhile. One that is replaced meanwhile is added as it is then. */
function addFile(
  folder: string,
  from: string,
  { name, isLinked, before }: { name: string; isLinked: boolean; before: BackedFile | undefined },
  progress: JobProgress,
): { readonly backed: BackedFile; readonly added: number } | undefined {
  for (let tries = 1; ; tries++) {
    const found = lookUnlessGone(() => lstatSync(from, { bigint: true }));
    if (found?.isFile() !== true) return undefined;
    const version = versionOf(found);
    const facts = {
      path: name,
      mode: Number(found.mode) & PERMISSIONS,
      modified_ms: Number(found.mtimeMs),
      version,
    };
    if (before?.version === version && existsSync(objectPath(folder, before.digest)))
      return { backed: { ...facts, size: before.size, digest: before.digest }, added: 0 };
    try {
      const { digest, size, isNew } = addObject(folder, from, isLinked, progress);
      return { backed: { ...facts, size, digest }, added: isNew ? size : 0 };
    } catch (error) {
      const now = lookUnlessGone(() => lstatSync(from, { bigint: true }));
      const isSame = now?.isFile() === true && versionOf(now) === version;
      if (isSame || tries === MOST_TRIES || isRefusal(error, 'job_cancelled')) throw error;
    }
  }
}

/** Undefined when what is looked at has gone, with its folder or without. */
function lookUnlessGone<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch (error) {
    if (GONE.includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** Adds a file: as a clone, a second name or a copy. Its digest is that of what was added. */
export function addObject(
  folder: string,
  from: string,
  isLinked: boolean,
  progress: JobProgress,
): { readonly digest: string; readonly size: number; readonly isNew: boolean } {
  const work = join(folder, BACKUP_WORK, 'object');
  rmSync(work, { force: true });
  if (!cloneFile(from, work) && !(isLinked && isSecondName(from, work))) copyFile(from, work, folder);
  // The mode of a second name is that of the image, which others may read.
  if (lstatSync(work).nlink === 1) chmodSync(work, FOR_THE_SERVER);
  const { digest, size } = digestOfFile(work, progress, true);
  const target = objectPath(folder, digest);
  const isNew = !existsSync(target);
  if (isNew) renameSync(work, target);
  else rmSync(work);
  return { digest, size, isNew };
}

/** SHA-256 of a file, and its length; the disk has it afterwards if that is wanted. */
export function digestOfFile(
  path: string,
  progress: JobProgress,
  isSynced = false,
): { readonly digest: string; readonly size: number } {
  const { fd, size } = openRegularFile(path);
  try {
    const hash = createHash('sha256');
    const piece = Buffer.allocUnsafe(Math.min(PIECE, Math.max(size, 1)));
    let length = 0;
    for (;;) {
      const count = readSync(fd, piece, 0, piece.length, length);
      if (count === 0) break;
      hash.update(piece.subarray(0, count));
      progress.advance(count);
      length += count;
    }
    if (isSynced) fsyncSync(fd);
    return { digest: hash.digest('hex'), size: length };
  } finally {
    closeSync(fd);
  }
}

/** Removes the objects that are not named. */
export function collectFiles(folder: string, named: ReadonlySet<string>): void {
  const objects = join(folder, OBJECTS);
  for (const name of existsSync(objects) ? readdirSync(objects) : [])
    if (!named.has(name)) rmSync(join(objects, name));
}

function isSecondName(from: string, to: string): boolean {
  try {
    linkSync(from, to);
  } catch (error) {
    if (NOT_LINKED.includes(systemCode(error) ?? '')) return false;
    throw error;
  }
  const fd = openSync(to, 'r');
  fsyncSync(fd);
  closeSync(fd);
  return true;
}

/** Paths of files, but not of those that are hidden or on their way. Links are not followed. */
function filesBelow(root: string): string[] {
  const found: string[] = [];
  const enter = (folder: string, depth: number): void => {
    const entries = lookUnlessGone(() => readdirSync(join(root, folder), { withFileTypes: true }));
    for (const entry of entries ?? []) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.name.startsWith('.') || path === 'tmp') continue;
      if (entry.isFile()) found.push(path);
      else if (entry.isDirectory() && depth < DEEPEST) enter(path, depth + 1);
      if (found.length > MOST_FILES) throw refusals.tooMany('files in this backup', MOST_FILES);
    }
  };
  enter('', 0);
  return found.sort();
}
