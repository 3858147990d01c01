/** The files of a project as of one moment, by threads of the job worker, for the HTTP thread. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ContentStore } from '../content/content-store.js';
import { holdStill, type StillTree } from '../content/still-tree.js';
import { SNAPSHOTS } from '../lab/folder-layout.js';
import type { TaskTable } from '../pool/task.js';
import { ownFolder } from '../storage/containment.js';
import { isLeftOut, isNotExported } from './left-out.js';

export interface StillTasks extends TaskTable {
  /**
   * Keeps them as they are in the work folder (absolute), for a later task on that. To be called while nothing changes.
   * What the snapshot with this id has needs no keeping.
   */
  readonly holdFiles: (input: {
    root: string;
    work: string;
    knownTo?: string | undefined;
    isForOthers: boolean;
  }) => {
    bytes: number;
    files: number;
  };
  readonly removeWork: (input: { work: string }) => void;
}

const MOST_FILES = 500_000;
const STILL = 'still.json';

export const stillTasks: StillTasks = {
  holdFiles({ root, work, knownTo, isForOthers }) {
    const held = join(makeWork(root, work), 'held');
    mkdirSync(held);
    const store = new ContentStore(join(root, SNAPSHOTS));
    const known = knownTo === undefined ? new Map<string, string>() : store.versions(knownTo);
    const tree = holdStill(root, held, {
      isLeftOut: isForOthers ? isNotExported : isLeftOut,
      known: (path) => known.get(path),
      limit: MOST_FILES,
    });
    writeFileSync(join(work, STILL), JSON.stringify(tree));
    return { bytes: tree.bytes, files: tree.files.length };
  },

  removeWork({ work }) {
    rmSync(work, { recursive: true, force: true });
  },
};

/** The work folder of a job, made; no link may lead to it. Absolute, as it is given. */
export function makeWork(root: string, work: string): string {
  return ownFolder(root, relative(root, work), true);
}

export function readStill(work: string): StillTree {
  return JSON.parse(readFileSync(join(work, STILL), 'utf8')) as StillTree;
}
