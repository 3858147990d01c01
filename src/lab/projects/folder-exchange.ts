/**
 * How parts of a project's folder are exchanged for what lies ready beside them, together with what is stored of the
 * project: the commit that changes the records stores this as well, and whoever finds it goes on from where the exchange
 * was left. By worker threads, for the HTTP thread.
 */
import { lstatSync, renameSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isRefusal, Refusal, refusals } from '../../base/errors/errors.js';
import { failureOf, type TaskTable } from '../../base/threads/task.js';
import { innerRoot } from '../../base/disk/containment.js';
import { isOwnPath } from '../../base/disk/own-names.js';
import { makeFolder, syncFolder } from '../../base/disk/published-file.js';
import { CAPTURES } from './folder-layout.js';

export interface FolderExchange {
  /** Below the project's folder. What is new lies in its folder `new`; what was there comes into its folder `old`. */
  readonly work: string;
  /** Below the project's folder as below `new`. */
  readonly paths: readonly string[];
}

type ExchangeInput = FolderExchange & { readonly root: string };

export interface FolderExchangeTasks extends TaskTable {
  /** Refuses (409) what could not be finished once it has begun. */
  readonly checkExchange: (input: ExchangeInput) => void;
  /**
   * Does what of it is not done yet. Captures stay where they are. What can never be done is given up: everything is
   * where it was before then, and the reason is returned.
   */
  readonly finishExchange: (input: ExchangeInput) => string | undefined;
}

/** Of the disk rather than of what lies on it: they pass, or somebody mends them. */
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

export const folderExchangeTasks: FolderExchangeTasks = {
  checkExchange({ root, work, paths }) {
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

  finishExchange(input) {
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

function goOn({ root, work, paths }: ExchangeInput): void {
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

/** The same steps backwards, from wherever they were left. */
function putBack({ root, work, paths }: ExchangeInput): void {
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

/** Where a part of the project's folder lies; no link may lead there. */
function presentPath(root: string, path: string, makes: boolean): string {
  const folder = dirname(path);
  return join(innerRoot(root, folder === '.' ? undefined : folder, makes), basename(path));
}

/** Undefined when it is not there. Refuses (409) a way to it on which there is a link or a file. */
function findPresent(root: string, path: string): Stats | undefined {
  try {
    return lstatSync(presentPath(root, path, false), { throwIfNoEntry: false });
  } catch (error) {
    if (isRefusal(error, 'file_missing')) return undefined;
    if (!(error instanceof Refusal)) throw error;
    throw refusals.filesNotExchanged(path, 'what is on the way to it is no folder');
  }
}

/** It is on the disk afterwards. */
function move(from: string, to: string): void {
  makeFolder(dirname(to));
  renameSync(from, to);
  syncFolder(dirname(to));
  syncFolder(dirname(from));
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
