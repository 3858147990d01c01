/** The files of a project as of one moment, by threads of the job worker, for the HTTP thread. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { ContentStore } from './content/content-store.js';
import { holdStill, type StillFile, type StillTree } from './content/still-tree.js';
import { SNAPSHOTS } from '../lab/projects/folder-layout.js';
import type { TaskTable } from '../base/threads/task.js';
import { ownFolder } from '../base/disk/containment.js';
import type { JobPlace } from './job-place.js';
import { isLeftOut, isNotExported } from './left-out.js';

export interface StillTasks extends TaskTable {
  /**
   * Keeps them as they are in the work folder, for a later task on that. To be called while nothing changes. What the
   * snapshot with this id has needs no keeping.
   */
  readonly holdFiles: (input: JobPlace & { knownTo?: string | undefined; isForOthers: boolean }) => {
    bytes: number;
    files: number;
  };
  /** Whatever of it is there. */
  readonly removeWork: (input: { paths: readonly string[] }) => void;
}

const MOST_FILES = 500_000;
const STILL = 'still.json';
const HELD = 'held';
const HELD_NAME = /^[0-9a-z]{1,12}$/;
const FOR_THE_SERVER = 0o700;

export const stillTasks: StillTasks = {
  holdFiles({ root, work, notes, knownTo, isForOthers }) {
    makeWork(root, work);
    makeNotes(notes);
    const held = join(work, HELD);
    mkdirSync(held);
    const store = new ContentStore(join(root, SNAPSHOTS));
    const known = knownTo === undefined ? new Map<string, string>() : store.versions(knownTo);
    const tree = holdStill(root, held, {
      isLeftOut: isForOthers ? isNotExported : isLeftOut,
      known: (path) => known.get(path),
      limit: MOST_FILES,
    });
    writeFileSync(join(notes, STILL), stillText(tree));
    return { bytes: tree.bytes, files: tree.files.length };
  },

  removeWork({ paths }) {
    for (const path of paths) rmSync(path, { recursive: true, force: true });
  },
};

/** The work folder of a job, made; no link may lead to it. Absolute, as it is given. */
export function makeWork(root: string, work: string): string {
  return ownFolder(root, relative(root, work), true);
}

export function makeNotes(notes: string): void {
  mkdirSync(notes, { recursive: true, mode: FOR_THE_SERVER });
}

/** What `holdFiles` has kept. Files that are held are named, and lie where the place says. */
export function readStill({ root, work, notes }: JobPlace): StillTree {
  const tree = JSON.parse(readFileSync(join(notes, STILL), 'utf8')) as Omit<StillTree, 'held'>;
  const held = join(work, HELD);
  const files = tree.files.map((file): StillFile => {
    const { path, hold, source } = file;
    if (hold === 'known' || source === undefined) return { ...file, hold: 'known', source: undefined };
    if (hold === 'none') return { ...file, source: join(root, path) };
    if (!HELD_NAME.test(source)) throw new RangeError(`${path} is not held where it should be`);
    return { ...file, source: join(held, source) };
  });
  return { ...tree, files, held };
}

function stillText({ held: _held, files, ...tree }: StillTree): string {
  const named = files.map((file) => ({
    ...file,
    source: file.source === undefined ? undefined : basename(file.source),
  }));
  return JSON.stringify({ ...tree, files: named });
}
