/** Freezes the files of a project for a job; the job threads run it for the HTTP thread. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { ContentStore } from './content/content-store.js';
import { freezeFiles, type FrozenFile, type FrozenTree } from './content/frozen-tree.js';
import { SNAPSHOTS } from '../lab/projects/folder-layout.js';
import type { TaskTable } from '../base/threads/task.js';
import { ownFolder } from '../base/disk/containment.js';
import type { JobPlace } from './job-place.js';
import { checkGrowth } from '../base/disk/disk-floor.js';
import { cloneFile } from '../base/disk/linux-files.js';
import { isBelow } from '../base/disk/path-order.js';
import { makeFolder } from '../base/disk/published-file.js';
import { newMemoryFolder } from './memory-place.js';
import { isLeftOut, isNotExported } from './left-out.js';

export interface FreezeTasks extends TaskTable {
  /**
   * Keeps all files in the work folder as they are now, for later tasks of the job. Call it while nothing changes. Files
   * that the snapshot `knownTo` has are not kept. Programs that go on afterwards write in the folders `written`.
   */
  readonly freezeProject: (
    input: JobPlace & { knownTo?: string | undefined; isForOthers: boolean; written?: readonly string[] },
  ) => { bytes: number; files: number };
  /**
   * Makes the folder for the memory of nodes, and returns the bytes that would have to be copied from the folders `written`.
   * Refuses (507) when the disk has no room for that and so many bytes of memory.
   */
  readonly prepareHold: (input: JobPlace & { written: readonly string[]; memoryBytes: number }) => number;
  /** Removes what exists of these paths. */
  readonly removeWork: (input: { paths: readonly string[] }) => void;
}

const MOST_FILES = 500_000;
const FROZEN = 'frozen.json';
const KEPT = 'held';
const KEPT_NAME = /^[0-9a-z]{1,12}$/;
const FOR_THE_SERVER = 0o700;

export const freezeTasks: FreezeTasks = {
  freezeProject({ root, workFolder, notes, knownTo, isForOthers, written = [] }) {
    makeWorkFolder(root, workFolder);
    makeNotes(notes);
    const keptFolder = join(workFolder, KEPT);
    mkdirSync(keptFolder);
    const store = new ContentStore(join(root, SNAPSHOTS));
    const known = knownTo === undefined ? new Map<string, string>() : store.versions(knownTo);
    const tree = freezeFiles(root, keptFolder, {
      isLeftOut: isForOthers ? isNotExported : isLeftOut,
      known: (path) => known.get(path),
      isWritten: (path) => written.some((folder) => isBelow(folder, path)),
      limit: MOST_FILES,
    });
    writeFileSync(join(notes, FROZEN), frozenText(tree));
    return { bytes: tree.bytes, files: tree.files.length };
  },

  prepareHold({ root, workFolder, written, memoryBytes }) {
    const folder = makeWorkFolder(root, workFolder);
    makeFolder(newMemoryFolder(workFolder));
    const bytes = canClone(folder)
      ? 0
      : written.reduce((sum, name) => sum + lengthOfFiles(join(root, name)), 0);
    checkGrowth(folder, bytes + memoryBytes);
    return bytes;
  },

  removeWork({ paths }) {
    for (const path of paths) rmSync(path, { recursive: true, force: true });
  },
};

/** Makes the work folder of a job, and returns its absolute path. Refuses links on the way to it. */
export function makeWorkFolder(root: string, workFolder: string): string {
  return ownFolder(root, relative(root, workFolder), true);
}

export function makeNotes(notes: string): void {
  mkdirSync(notes, { recursive: true, mode: FOR_THE_SERVER });
}

/** Reads the notes of `freezeProject`. They name kept files without folders, so that they cannot lead elsewhere. */
export function readFrozen({ root, workFolder, notes }: JobPlace): FrozenTree {
  const tree = JSON.parse(readFileSync(join(notes, FROZEN), 'utf8')) as Omit<FrozenTree, 'keptFolder'>;
  const keptFolder = join(workFolder, KEPT);
  const files = tree.files.map((file): FrozenFile => {
    const { path, keptAs, source } = file;
    if (keptAs === 'known' || source === undefined) return { ...file, keptAs: 'known', source: undefined };
    if (keptAs === 'none') return { ...file, source: join(root, path) };
    if (!KEPT_NAME.test(source)) throw new RangeError(`${path} is not kept where it should be`);
    return { ...file, source: join(keptFolder, source) };
  });
  return { ...tree, files, keptFolder };
}

/** Whether files in the folder can share blocks. */
function canClone(folder: string): boolean {
  const probe = join(folder, 'probe');
  writeFileSync(probe, 'probe');
  const isDone = cloneFile(probe, `${probe}.clone`);
  rmSync(probe);
  rmSync(`${probe}.clone`, { force: true });
  return isDone;
}

function lengthOfFiles(folder: string): number {
  if (!existsSync(folder)) return 0;
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

function frozenText({ keptFolder: _keptFolder, files, ...tree }: FrozenTree): string {
  const named = files.map((file) => ({
    ...file,
    source: file.source === undefined ? undefined : basename(file.source),
  }));
  return JSON.stringify({ ...tree, files: named });
}
