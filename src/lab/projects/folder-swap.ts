/**
 * Swaps parts of a project's folder for files that lie ready beside them, together with the records of the project: the
 * commit that changes the records stores the swap, too, and the next server that finds it goes on from where it was left.
 * Runs in worker threads, for the HTTP thread.
 */
import { lstatSync, renameSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isRefusal, Refusal, refusals } from '../../base/errors/errors.js';
import { failureOf, type TaskTable } from '../../base/threads/task.js';
import { innerRoot } from '../../base/disk/containment.js';
import { isOwnPath } from '../../base/disk/own-names.js';
import { makeFolder, syncFolder } from '../../base/disk/published-file.js';
import { CAPTURES } from './folder-layout.js';

export interface FolderSwap {
  /** A path below the project's folder. New files lie in its folder `new`; those that were there go to its folder `old`. */
  readonly work: string;
  /** The parts to swap: paths below the project's folder, and below `new`. */
  readonly paths: readonly string[];
}

type SwapInput = FolderSwap & { readonly root: string };

export interface FolderSwapTasks extends TaskTable {
  /** Refuses (409) a swap that could not be finished once it has begun. */
  readonly checkSwap: (input: SwapInput) => void;
  /**
   * Does the rest of a swap. Captures stay where they are. A swap that can never be finished is given up: everything is
   * put back where it was, and the reason is returned.
   */
  readonly finishSwap: (input: SwapInput) => string | undefined;
}

/** Errors of the disk, not of the files on it: they pass, or the disk is repaired. */
const PASSING = [
  ...[
    'EIO',
    'ENOSPC',
    'EDQUOT',
    'EROFS',
    'EACCES',
    'EPERM',
    'EBUSY',
    'ESTALE',
    'EINTR',
    'EAGAIN',
    'ETIMEDOUT',
  ],
  ...['EMFILE', 'ENFILE', 'ENOMEM'],
];

export const folderSwapTasks: FolderSwapTasks = {
  checkSwap({ root, work, paths }) {
    const { dev } = lstatSync(root);
    for (const path of paths) {
      if (isOwnPath(path)) throw refusals.filesNotExchanged(path, "it is a name of the server's own");
      const present = findPresent(root, path);
      for (const found of [lstatSync(join(root, work, 'new', path)), present]) {
        if (found !== undefined && found.dev !== dev)
          throw refusals.filesNotExchanged(path, "it is not on the file system of the project's folder");
      }
    }
  },

  finishSwap(input) {
    try {
      goOn(input);
      return undefined;
    } catch (error) {
      if (error instanceof Error && 'code' in error && PASSING.includes(String(error.code))) throw error;
      putBack(input);
      return failureOf(error).message;
    }
  },
};

function goOn({ root, work, paths }: SwapInput): void {
  const own = join(root, work);
  for (const path of paths) {
    const next = join(own, 'new', path);
    if (!isThere(next)) continue;
    const present = presentPath(root, path, true);
    if (isThere(present)) move(present, join(own, 'old', path));
    move(next, present);
  }
  const captures = join(own, 'old', CAPTURES);
  if (isThere(captures) && !isThere(join(root, CAPTURES))) move(captures, join(root, CAPTURES));
}

/** Undoes the steps in reverse order, from wherever they were left. */
function putBack({ root, work, paths }: SwapInput): void {
  const own = join(root, work);
  for (const path of paths.toReversed()) {
    const [next, before] = [join(own, 'new', path), join(own, 'old', path)];
    const isMoved = !isThere(next);
    if (!isMoved && !isThere(before)) continue;
    const present = presentPath(root, path, true);
    if (isMoved && isThere(present)) move(present, next);
    if (isThere(before)) move(before, present);
  }
}

/** The path of a part of the project's folder. Refuses symbolic links on the way. */
function presentPath(root: string, path: string, makes: boolean): string {
  const folder = dirname(path);
  return join(innerRoot(root, folder === '.' ? undefined : folder, makes), basename(path));
}

/** Undefined when it is not there. Refuses (409) a path that leads through a symbolic link or a file. */
function findPresent(root: string, path: string): Stats | undefined {
  try {
    return lstatSync(presentPath(root, path, false), { throwIfNoEntry: false });
  } catch (error) {
    if (isRefusal(error, 'file_missing')) return undefined;
    if (!(error instanceof Refusal)) throw error;
    throw refusals.filesNotExchanged(path, 'what is on the way to it is no folder');
  }
}

/** Renames, and returns when the disk has it. */
function move(from: string, to: string): void {
  makeFolder(dirname(to));
  renameSync(from, to);
  syncFolder(dirname(to));
  syncFolder(dirname(from));
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
