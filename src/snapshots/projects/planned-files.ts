/** Plans the members of an archive for files, folders and links. Runs in worker threads. */
import { linkSync, lstatSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ContentTree, StoredFolder, StoredSymlink } from '../content/content-tree.js';
import { CONTENT, isObject } from '../content/objects.js';
import type { FrozenFile, FrozenTree } from '../content/frozen-tree.js';
import { refusals } from '../../base/errors/errors.js';
import { linkFault, nameFault } from '../archives/zip-member.js';
import { SNAPSHOTS } from '../../lab/projects/folder-layout.js';
import {
  unreadableBecause,
  versionNow,
  type PlannedMember,
  type PlannedPath,
  type PlanRoots,
} from '../archives/zip-plan.js';
import { writtenVersion } from '../../base/disk/content-version.js';
import type { JobPlace } from '../job-place.js';

/** The names of folders in plans. */
export const ROOT = { project: 'project', work: 'work', notes: 'notes', images: 'images' } as const;

const FILE_MODE = 0o644;
const LINK_MODE = 0o777;
/** Stands for the time of the newest file. The same project makes the same archive, so that a download can go on. */
const UNDATED = NaN;

export function plannedText(path: string, text: string): PlannedMember {
  return { path, kind: 'file', mode: FILE_MODE, modifiedMs: UNDATED, content: { text }, size: 0 };
}

/** Gives members without a time that of the newest file. */
export function dated(members: readonly PlannedMember[]): PlannedMember[] {
  const newest = members.reduce((found, { modifiedMs: time }) => (time > found ? time : found), 0);
  return members.map((member) =>
    Number.isNaN(member.modifiedMs) ? { ...member, modifiedMs: newest } : member,
  );
}

/** The members that can be read now; adds a warning for each of the others. */
export function readable(
  members: readonly PlannedMember[],
  roots: PlanRoots,
  warnings: string[],
): PlannedMember[] {
  return members.filter((member) => {
    try {
      versionNow(member, roots);
      return true;
    } catch (error) {
      warnings.push(`Could not export file ${member.path}: ${unreadableBecause(error)}`);
      return false;
    }
  });
}

/** Ordered by path; only empty folders are members. */
export function plannedFrozen({ folders, files, links, keptFolder }: FrozenTree): PlannedMember[] {
  return inOrder([
    ...emptyFolders(folders, [files, links]),
    ...files.map((file) => frozenMember(file, basename(keptFolder))),
    ...links.map(linkMember),
  ]);
}

/** The same for the files of a snapshot. */
export function plannedStored({ folders, files, links }: ContentTree, content: PlannedPath): PlannedMember[] {
  const stored = files.map((file): PlannedMember => {
    const { path, mode, modifiedMs, size } = file;
    return { path, kind: 'file', mode, modifiedMs, content: { stored: file, content }, size };
  });
  return inOrder([...emptyFolders(folders, [files, links]), ...stored, ...links.map(linkMember)]);
}

/** The members that an import accepts; adds a warning for each of the others. */
export function portable(members: readonly PlannedMember[], warnings: string[]): PlannedMember[] {
  return members.filter(({ path, kind, content }) => {
    const target = kind === 'link' && content !== undefined && 'text' in content ? content.text : undefined;
    const fault =
      nameFault(path, Buffer.from(path), true) ??
      (target === undefined ? undefined : linkFault(path, target));
    if (fault !== undefined) warnings.push(`Could not export file ${path}: ${fault}`);
    return fault === undefined;
  });
}

/**
 * Keeps the objects of the tree by second names in the work folder, also when the snapshot is deleted, and returns that
 * folder. Where hard links are impossible, it returns the folder of the store.
 */
export function keepObjects({ root, workFolder }: JobPlace, { files }: ContentTree): PlannedPath {
  const own = `${SNAPSHOTS}/${CONTENT}`;
  const content = join(root, own);
  const keptObjects = join(workFolder, CONTENT);
  mkdirSync(keptObjects, { recursive: true });
  for (const object of new Set(files.flatMap(({ extents }) => extents.map((extent) => extent.object)))) {
    if (!isObject(object)) throw refusals.snapshotDamaged('it names no object');
    if (lstatSync(join(content, object), { throwIfNoEntry: false })?.isFile() === false)
      throw refusals.snapshotDamaged(`${object} is no file`);
    try {
      linkSync(join(content, object), join(keptObjects, object));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'ENOENT') throw refusals.snapshotDamaged(`${object} is missing`);
      if (code !== 'EEXIST') return { root: ROOT.project, path: own };
    }
  }
  return { root: ROOT.work, path: CONTENT };
}

function frozenMember(
  { path, mode, modifiedMs, size, source, keptAs, version }: FrozenFile,
  keptFolder: string,
): PlannedMember {
  const place =
    keptAs === 'none'
      ? { root: ROOT.project, path }
      : { root: ROOT.work, path: `${keptFolder}/${basename(source ?? '')}` };
  // Empty files are not kept.
  const content = source === undefined ? { text: '' } : { file: place };
  return { path, kind: 'file', mode, modifiedMs, content, size, version: writtenVersion(version) };
}

function linkMember({ path, target }: StoredSymlink): PlannedMember {
  return { path, kind: 'link', mode: LINK_MODE, modifiedMs: UNDATED, content: { text: target }, size: 0 };
}

function emptyFolders(
  folders: readonly StoredFolder[],
  others: readonly (readonly { readonly path: string }[])[],
): PlannedMember[] {
  const filled = new Set([folders, ...others].flatMap((list) => list.map(({ path }) => parentOf(path))));
  return folders
    .filter(({ path }) => !filled.has(path))
    .map(({ path, mode }) => ({ path, kind: 'folder', mode, modifiedMs: UNDATED, size: 0 }));
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0));
}

function inOrder(members: PlannedMember[]): PlannedMember[] {
  return members.sort((a, b) => (a.path < b.path ? -1 : 1));
}
