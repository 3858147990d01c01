/**
 * Moves files that lie ready to their places in a folder of a project: all of them or none, even if the process dies in
 * between. A journal is written first, and files that were there are kept aside. While the journal is there everything
 * can be undone; removing it is the commit. Runs in worker threads.
 */
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  type BigIntStats,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { Refusal, refusals } from '../../base/errors/errors.js';
import type { TaskTable } from '../../base/threads/task.js';
import { ownFolder } from '../../base/disk/containment.js';
import { publishBytes, syncFolder } from '../../base/disk/published-file.js';
import { readRegularFile } from '../../base/disk/regular-file.js';
import { syncTree } from '../../base/disk/tree-sync.js';
import { TEMPORARY, PLACING } from './folder-layout.js';

export interface PlacingTasks extends TaskTable {
  /** Undoes placings that were not finished. Must not run while files are being placed in the project. */
  readonly undoPlacings: (input: { root: string }) => void;
}

interface ReadyFiles {
  /** The project's folder. */
  readonly root: string;
  /** A folder in the project's temporary folder, whose name ends in `PLACING`. The files lie in it below `new`. */
  readonly work: string;
  /** The target, below the project's folder. It is made if it is missing; no symbolic link may lead to it. */
  readonly folder: string;
}

const JOURNAL = 'journal.json';
const LARGEST_JOURNAL = 128 * 1024 * 1024;
const pathBelow = z
  .string()
  .refine((path) => !path.startsWith('/') && !path.includes('\0') && !path.split('/').includes('..'));
const journalSchema = z.strictObject({
  folder: pathBelow,
  /** The folders that were missing. */
  folders: z.array(pathBelow),
  /** A file that was there is kept in `old`; its name is the index in this list. */
  files: z.array(z.strictObject({ path: pathBelow, inode: z.string() })),
});
type Journal = z.infer<typeof journalSchema>;

export const placingTasks: PlacingTasks = {
  undoPlacings({ root }) {
    const temporary = lstatOf(join(root, TEMPORARY));
    if (temporary?.isDirectory() !== true) return;
    for (const name of readdirSync(join(root, TEMPORARY))) {
      if (!name.endsWith(PLACING)) continue;
      const work = join(root, TEMPORARY, name);
      const journal = readJournal(work);
      if (journal !== undefined) undo(root, work, journal);
    }
  },
};

/** Merges folders and replaces files. Refuses (409) anything else in the way. A failure changes nothing. */
export function placeFiles({ root, work, folder }: ReadyFiles): void {
  const { folders, files } = treeOf(join(work, 'new'));
  const target = ownFolder(root, folder, true);
  for (const path of folders) checkFree(target, path, 'folder');
  for (const { path } of files) checkFree(target, path, 'file');
  const journal: Journal = {
    folder,
    folders: folders.filter((path) => lstatOf(join(target, path)) === undefined),
    files,
  };
  mkdirSync(join(work, 'old'));
  publishBytes(work, join(work, JOURNAL), Buffer.from(JSON.stringify(journal)));
  syncFolder(dirname(work));
  try {
    keepPresent(target, work, journal);
    for (const path of journal.folders) mkdirSync(join(target, path));
    for (const { path } of files) place(target, path, join(work, 'new', path));
    syncChanged(target, journal);
    forget(work);
  } catch (error) {
    undo(root, work, journal);
    throw error;
  }
}

/** Keeps present files under a second name, so that none is missing at any moment; without hard links, by a rename. */
function keepPresent(target: string, work: string, { files }: Journal): void {
  for (const [index, { path }] of files.entries()) {
    const present = join(target, path);
    if (lstatOf(present) === undefined) continue;
    const kept = keptFile(work, index);
    try {
      linkSync(present, kept);
    } catch {
      renameSync(present, kept);
    }
  }
  syncFolder(join(work, 'old'));
}

function place(target: string, path: string, from: string): void {
  try {
    renameSync(from, join(target, path));
  } catch (error) {
    // Another program may have made something there meanwhile.
    checkFree(target, path, 'file');
    throw error;
  }
}

/** Can be repeated if it was interrupted. A file that another program has put there since stays. */
function undo(root: string, work: string, journal: Journal): void {
  const folders = new Map<string, string | undefined>();
  const folderOf = (path: string): string | undefined => {
    if (!folders.has(path)) folders.set(path, existingFolder(root, join(journal.folder, path)));
    return folders.get(path);
  };
  for (const [index, { path, inode }] of journal.files.entries()) {
    const folder = folderOf(dirname(path));
    if (folder !== undefined) restore(join(folder, basename(path)), inode, keptFile(work, index));
  }
  for (const path of journal.folders.toReversed()) {
    const folder = folderOf(dirname(path));
    if (folder !== undefined) removeIfEmpty(join(folder, basename(path)));
  }
  const target = existingFolder(root, journal.folder);
  if (target !== undefined) syncChanged(target, journal);
  forget(work);
}

function restore(path: string, inode: string, kept: string): void {
  const found = lstatOf(path);
  if (found !== undefined && String(found.ino) !== inode) return;
  if (lstatOf(kept)?.isFile() === true) renameSync(kept, path);
  else if (found !== undefined) unlinkSync(path);
}

/** Syncs every folder in which a name has changed. */
function syncChanged(target: string, { folders, files }: Journal): void {
  const changed = new Set([...folders, ...files.map(({ path }) => path)].map((path) => dirname(path)));
  syncTree(
    target,
    [...changed, ...folders].filter((path) => lstatOf(join(target, path))?.isDirectory() === true),
    [],
  );
}

/** Removes the folder of a placing, unless it still has to be undone. */
export function removeWork(work: string): void {
  if (lstatOf(join(work, JOURNAL)) === undefined) rmSync(work, { recursive: true, force: true });
}

/** Removes the journal: from now on nothing is undone. */
function forget(work: string): void {
  rmSync(join(work, JOURNAL), { force: true });
  syncFolder(work);
}

/** Refuses a path at which there is something of another kind. Symbolic links are never followed or replaced. */
function checkFree(target: string, path: string, kind: 'file' | 'folder'): void {
  const found = lstatOf(join(target, path));
  const fits = kind === 'file' ? found?.isFile() : found?.isDirectory();
  if (fits === false) throw refusals.archiveMemberRefused(path, `what is there already is no ${kind}`);
}

/** Undefined when there is no journal, or none that was written here. */
function readJournal(work: string): Journal | undefined {
  if (lstatOf(join(work, JOURNAL))?.isFile() !== true) return undefined;
  try {
    const text = readRegularFile(join(work, JOURNAL), LARGEST_JOURNAL).toString();
    return journalSchema.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Refusal) return undefined;
    throw error;
  }
}

/** All files and folders below `root`. Parents come before their children. */
function treeOf(root: string): Pick<Journal, 'files' | 'folders'> {
  const all = [''];
  const files: Journal['files'] = [];
  for (const folder of all) {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) all.push(path);
      else files.push({ path, inode: String(lstatOf(join(root, path))?.ino) });
    }
  }
  return { folders: all.slice(1), files };
}

function existingFolder(root: string, path: string): string | undefined {
  try {
    return ownFolder(root, path);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It was not made yet, or it is not empty.
  }
}

function keptFile(work: string, index: number): string {
  return join(work, 'old', String(index));
}

/** Undefined when nothing is there. */
function lstatOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return undefined;
    throw error;
  }
}
