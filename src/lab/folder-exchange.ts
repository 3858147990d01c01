/**
 * How parts of a project's folder are exchanged for what lies ready beside them, together with what is stored of the
 * project: the commit that changes the records stores this as well, and whoever finds it goes on from where the exchange
 * was left. By worker threads, for the HTTP thread.
 */
import { lstatSync, mkdirSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { TaskTable } from '../pool/task.js';
import { innerRoot } from '../storage/containment.js';
import { syncFolder } from '../storage/published-file.js';
import { CAPTURES } from './folder-layout.js';

export interface FolderExchange {
  /** Below the project's folder. What is new lies in its folder `new`; what was there comes into its folder `old`. */
  readonly work: string;
  /** Below the project's folder as below `new`. */
  readonly paths: readonly string[];
}

export interface FolderExchangeTasks extends TaskTable {
  /** Does what of it is not done yet. Captures stay where they are. */
  readonly finishExchange: (input: FolderExchange & { root: string }) => void;
}

export const folderExchangeTasks: FolderExchangeTasks = {
  finishExchange({ root, work, paths }) {
    const own = join(root, work);
    for (const path of paths) {
      const next = join(own, 'new', path);
      if (!isThere(next)) continue;
      const folder = dirname(path);
      const present = join(innerRoot(root, folder === '.' ? undefined : folder, true), basename(path));
      if (isThere(present)) move(present, join(own, 'old', path));
      move(next, present);
    }
    const captures = join(own, 'old', CAPTURES);
    if (isThere(captures) && !isThere(join(root, CAPTURES))) move(captures, join(root, CAPTURES));
  },
};

/** It is on the disk afterwards. */
function move(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  renameSync(from, to);
  syncFolder(dirname(to));
  syncFolder(dirname(from));
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
