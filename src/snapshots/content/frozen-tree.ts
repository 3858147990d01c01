/**
 * The files of a folder as of one moment. What has to be read is cloned, or gets a second name, within that moment; the
 * reading comes at leisure. Writers wait meanwhile, so this reads no file. Runs in a worker thread.
 */
import { type BigIntStats, linkSync, lstatSync, mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { cloneFile } from '../../base/disk/linux-files.js';
import type { StoredFolder, StoredSymlink } from './content-tree.js';
import { contentVersion, hasSameContent } from '../../base/disk/content-version.js';
import { codeOf, readable } from './source-reading.js';

/** How the content of a file stays what it was. */
export type KeptAs =
  /** It is of a version that a snapshot has, or is empty. */
  | 'known'
  /** A file of its own that shares the blocks. */
  | 'clone'
  /** A second name: safe from those who replace a file, and not from those who write into it. */
  | 'link'
  /** Not at all. */
  | 'none';

export interface FrozenFile {
  /** Below the root, with slashes. */
  readonly path: string;
  readonly size: number;
  /** The permissions. */
  readonly mode: number;
  readonly modifiedMs: number;
  /** Of what is read; of a known file the known one. */
  readonly version: string;
  /** False of a file that was changed just now: another change may not show in its version. */
  readonly isSettled: boolean;
  readonly keptAs: KeptAs;
  /** The absolute path that it is read from; undefined when it need not be read. */
  readonly source: string | undefined;
}

export interface FrozenTree {
  /** Each after the one that it is in. */
  readonly folders: readonly StoredFolder[];
  readonly files: readonly FrozenFile[];
  readonly links: readonly StoredSymlink[];
  /** Of all files. */
  readonly bytes: number;
  /** The absolute path of the folder of what is cloned, or has a second name: it lies there at once. */
  readonly keptFolder: string;
}

export interface FreezeOptions {
  readonly isLeftOut: (path: string, isFolder: boolean) => boolean;
  /** The version of the file that a snapshot has: one that still has it is not read. */
  readonly known: (path: string) => string | undefined;
  /** The most files, folders and links. */
  readonly limit: number;
}

const PERMISSIONS = 0o7777n;
/** More than the clocks of file systems are coarse. */
const SETTLED_AFTER_MS = 2000;
const NOT_LINKED = ['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EACCES'];

/**
 * Links are kept as they are and never followed; devices, pipes and sockets are passed over. What is held lies in the
 * folder `work`, which the caller removes, also after a failure. Refuses (409) what cannot be read.
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
  /** Where blocks cannot be shared, by the device; not tried again. */
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
        const target = readable(path, () => readlinkSync(join(this.#root, path)));
        this.#links.push({ path, target });
      } else if (found.isFile()) {
        this.#files.push(this.#file(path, found));
      }
      const { limit } = this.#options;
      const count = this.#folders.length + this.#files.length + this.#links.length;
      if (count > limit) throw refusals.tooMany('files in this project', limit);
    }
  }

  /** In such an order that files are in that of their paths. */
  #entries(folder: string): { name: string; isFolder: boolean }[] {
    const found = readable(folder === '' ? '.' : folder, () =>
      readdirSync(join(this.#root, folder), { withFileTypes: true }),
    );
    return found
      .map((entry) => {
        const isFolder = entry.isDirectory();
        return { name: entry.name, isFolder, key: isFolder ? `${entry.name}/` : entry.name };
      })
      .sort((a, b) => comparePaths(a.key, b.key));
  }

  /** Undefined when it has gone just now. */
  #look(path: string): BigIntStats | undefined {
    const found = readable(path, () =>
      lstatSync(join(this.#root, path), { bigint: true, throwIfNoEntry: false }),
    );
    // A name that is no text was spelled with this sign, and so is not found.
    if (found === undefined && path.includes('\ufffd')) {
      throw refusals.contentUnreadable(path, 'its name is not UTF-8');
    }
    return found;
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

  #keep(path: string, found: BigIntStats): Pick<FrozenFile, 'keptAs' | 'source' | 'version'> {
    const live = join(this.#root, path);
    const version = contentVersion(found);
    const kept = join(this.#keptFolder, (this.#kept++).toString(36));
    if (this.#clone(path, found, kept)) {
      if (this.#versionNow(path) !== version) throw refusals.contentChanging(path);
      return { keptAs: 'clone', source: kept, version };
    }
    if (!readable(path, () => isLinked(live, kept))) return { keptAs: 'none', source: live, version };
    // The second name has changed the time of the last change of what is known of the file.
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

/** False where there can be no second name. */
function isLinked(path: string, name: string): boolean {
  try {
    linkSync(path, name);
    return true;
  } catch (error) {
    if (NOT_LINKED.includes(codeOf(error))) return false;
    throw error;
  }
}

/** As their octets in UTF-8 compare. */
function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** The halves of characters beyond the first 65,536 come after all others. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
