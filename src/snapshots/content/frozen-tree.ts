/**
 * Freezes the files of a folder as of one moment: each file whose content is needed is cloned, or gets a second name, and
 * is read later. Writers wait meanwhile, so this reads no file. Runs in a worker thread.
 */
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  type BigIntStats,
  type Dirent,
} from 'node:fs';
import { join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { cloneFile } from '../../base/disk/linux-files.js';
import { copyFile } from './copied-file.js';
import type { StoredFolder, StoredSymlink } from './content-tree.js';
import { contentVersion, hasSameContent } from '../../base/disk/content-version.js';
import { codeOf, readable } from './source-reading.js';

/** How the content of a file is kept. */
type KeptAs =
  /** Not needed: a snapshot has this version, or the file is empty. */
  | 'known'
  /** A copy that shares the blocks. */
  | 'clone'
  /** A copy with blocks of its own. */
  | 'copy'
  /** A second name (hard link): safe when the file is replaced, but not when it is written into. */
  | 'link'
  /** Not at all: the file of the project is read. */
  | 'none';

export interface FrozenFile {
  /** Below the root, with slashes. */
  readonly path: string;
  readonly size: number;
  /** The permissions. */
  readonly mode: number;
  readonly modifiedMs: number;
  /** The version of the source, or of the known file. */
  readonly version: string;
  /** False if the file was changed just now: then another change may not show in its version. */
  readonly isSettled: boolean;
  readonly keptAs: KeptAs;
  /** The absolute path to read from; undefined if the content is not needed. */
  readonly source: string | undefined;
}

export interface FrozenTree {
  /** Parents come before their children. */
  readonly folders: readonly StoredFolder[];
  readonly files: readonly FrozenFile[];
  readonly links: readonly StoredSymlink[];
  /** The length of all files. */
  readonly bytes: number;
  /** The absolute path of the folder that has the clones and second names, without subfolders. */
  readonly keptFolder: string;
}

interface FreezeOptions {
  readonly isLeftOut: (path: string, isFolder: boolean) => boolean;
  /** The version of this file that a snapshot has: a file of the same version is not kept. */
  readonly known: (path: string) => string | undefined;
  /** Whether a program may write into the file after the freezing: a second name would not keep its content. */
  readonly isWritten?: (path: string) => boolean;
  /** Whether a program writes into the file even while it is frozen: what is kept of it may be of several moments. */
  readonly mayChange?: (path: string) => boolean;
  /** The most files, folders and links. */
  readonly limit: number;
}

const PERMISSIONS = 0o7777n;
/** More than the granularity of time stamps in file systems. */
const SETTLED_AFTER_MS = 2000;
const NOT_LINKED = ['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EACCES'];

/**
 * Symbolic links are never followed; devices, pipes and sockets are left out. Clones and second names go to `keptFolder`,
 * which the caller removes, also after a failure. Refuses (409) what cannot be read.
 */
export function freezeFiles(root: string, keptFolder: string, options: FreezeOptions): FrozenTree {
  return new Walk(root, keptFolder, options).tree();
}

class Walk {
  readonly #root: string;
  readonly #keptFolder: string;
  readonly #options: FreezeOptions;
  readonly #now = Date.now();
  readonly #folders: StoredFolder[] = [];
  readonly #files: FrozenFile[] = [];
  readonly #links: StoredSymlink[] = [];
  /** Devices that cannot share blocks: cloning is not tried again. */
  readonly #withoutClones = new Set<bigint>();
  #kept = 0;

  constructor(root: string, keptFolder: string, options: FreezeOptions) {
    this.#root = root;
    this.#keptFolder = keptFolder;
    this.#options = options;
  }

  tree(): FrozenTree {
    mkdirSync(this.#keptFolder, { recursive: true });
    this.#enter('');
    this.#folders.sort((a, b) => comparePaths(a.path, b.path));
    const bytes = this.#files.reduce((sum, { size }) => sum + size, 0);
    return {
      folders: this.#folders,
      files: this.#files,
      links: this.#links,
      bytes,
      keptFolder: this.#keptFolder,
    };
  }

  #enter(folder: string): void {
    for (const { name, isFolder } of this.#entries(folder)) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (this.#options.isLeftOut(path, isFolder)) continue;
      const found = this.#look(path);
      if (found === undefined) continue;
      if (found.isDirectory()) {
        this.#folders.push({ path, mode: Number(found.mode & PERMISSIONS) });
        this.#enter(path);
      } else if (found.isSymbolicLink()) {
        const target = this.#unlessGone(path, () =>
          readable(path, () => readlinkSync(join(this.#root, path))),
        );
        if (target !== undefined) this.#links.push({ path, target });
      } else if (found.isFile()) {
        const file = this.#unlessGone(path, () => this.#file(path, found));
        if (file !== undefined) this.#files.push(file);
      }
      const { limit } = this.#options;
      const count = this.#folders.length + this.#files.length + this.#links.length;
      if (count > limit) throw refusals.tooMany('files in this project', limit);
    }
  }

  /** Sorted so that the walk yields files in the order of their paths. */
  #entries(folder: string): { name: string; isFolder: boolean }[] {
    const read = (): Dirent[] =>
      readable(folder === '' ? '.' : folder, () =>
        readdirSync(join(this.#root, folder), { withFileTypes: true }),
      );
    const found = folder === '' ? read() : this.#unlessGone(folder, read);
    return (found ?? [])
      .map((entry) => {
        const isFolder = entry.isDirectory();
        return { name: entry.name, isFolder, key: isFolder ? `${entry.name}/` : entry.name };
      })
      .sort((a, b) => comparePaths(a.key, b.key));
  }

  /** Undefined if the entry is gone by now. */
  #look(path: string): BigIntStats | undefined {
    const found = readable(path, () =>
      lstatSync(join(this.#root, path), { bigint: true, throwIfNoEntry: false }),
    );
    // Node.js puts this character into names that are not UTF-8, so they are not found.
    if (found === undefined && path.includes('\ufffd')) {
      throw refusals.contentUnreadable(path, 'its name is not UTF-8');
    }
    return found;
  }

  /** Undefined if the entry goes while it is read. */
  #unlessGone<Result>(path: string, read: () => Result): Result | undefined {
    try {
      return read();
    } catch (error) {
      if (this.#look(path) === undefined) return undefined;
      throw error;
    }
  }

  #file(path: string, found: BigIntStats): FrozenFile {
    const version = contentVersion(found);
    const changedMs = Math.max(Number(found.mtimeMs), Number(found.ctimeMs));
    const file = {
      path,
      size: Number(found.size),
      mode: Number(found.mode & PERMISSIONS),
      modifiedMs: Number(found.mtimeNs) / 1e6,
      version,
      isSettled: changedMs < this.#now - SETTLED_AFTER_MS,
    };
    const isKnown = file.size === 0 || this.#options.known(path) === version;
    if (isKnown) return { ...file, keptAs: 'known', source: undefined };
    return { ...file, ...this.#keep(path, found) };
  }

  #keep(
    path: string,
    found: BigIntStats,
  ): Pick<FrozenFile, 'keptAs' | 'source' | 'version'> & { size?: number } {
    const live = join(this.#root, path);
    const version = contentVersion(found);
    const kept = join(this.#keptFolder, (this.#kept++).toString(36));
    if (this.#options.mayChange?.(path) === true) {
      if (!this.#clone(path, found, kept)) {
        readable(path, () => {
          copyFile(live, kept, this.#keptFolder);
        });
      }
      return { keptAs: 'copy', source: kept, version, size: lstatSync(kept).size };
    }
    if (this.#clone(path, found, kept)) {
      if (this.#versionNow(path) !== version) throw refusals.contentChanging(path);
      return { keptAs: 'clone', source: kept, version };
    }
    if (this.#options.isWritten?.(path) === true) {
      readable(path, () => {
        copyFile(live, kept, this.#keptFolder);
      });
      if (this.#versionNow(path) !== version) throw refusals.contentChanging(path);
      return { keptAs: 'copy', source: kept, version };
    }
    if (!readable(path, () => isLinked(live, kept))) return { keptAs: 'none', source: live, version };
    // The second name has changed the ctime, and with it the version.
    const linked = contentVersion(lstatSync(kept, { bigint: true }));
    if (!hasSameContent(linked, version)) throw refusals.contentChanging(path);
    return { keptAs: 'link', source: kept, version: linked };
  }

  #clone(path: string, { dev }: BigIntStats, kept: string): boolean {
    if (this.#withoutClones.has(dev)) return false;
    const isDone = readable(path, () => cloneFile(join(this.#root, path), kept));
    if (!isDone) this.#withoutClones.add(dev);
    return isDone;
  }

  #versionNow(path: string): string | undefined {
    const found = this.#look(path);
    return found === undefined ? undefined : contentVersion(found);
  }
}

/** False where the file system allows no second name. */
function isLinked(path: string, name: string): boolean {
  try {
    linkSync(path, name);
    return true;
  } catch (error) {
    if (NOT_LINKED.includes(codeOf(error))) return false;
    throw error;
  }
}

/** Compares by the bytes of UTF-8. */
function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates sort after all other UTF-16 units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
