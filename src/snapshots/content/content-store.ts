/**
 * Stores the files of a project for its snapshots; each chunk is stored once. Only one job at a time may use a store.
 * Runs in a worker thread.
 */
import { lstatSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal, refusals } from '../../base/errors/errors.js';
import { ownFolder } from '../../base/disk/containment.js';
import { makeFolder } from '../../base/disk/published-file.js';
import { ChunkTable } from './chunk-table.js';
import { checkTree, type ContentTree, type StoredFile } from './content-tree.js';
import { storeFiles } from './file-storing.js';
import type { JobProgress } from './job-progress.js';
import { manifestIds, manifestName, readManifest } from './manifest.js';
import {
  collectObjects,
  CONTENT,
  indexOf,
  isPack,
  isSound,
  isStoreId,
  objectUse,
  uniqueBytes,
} from './objects.js';
import { ContentDamage, OpenObjects } from './object-reading.js';
import { readPackIndex } from './pack.js';
import type { FrozenTree } from './frozen-tree.js';
import { buildTree, checkFile, digestOf } from './tree-building.js';

interface StoredContent {
  readonly tree: ContentTree;
  /** The growth of the store in bytes, without clones. */
  readonly added: number;
}

export class ContentStore {
  readonly #folder: string;
  readonly #content: string;

  /** `folder` has the snapshots of the project. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#content = join(folder, CONTENT);
  }

  /**
   * The versions, by path, of the files of this snapshot that need not be stored again: see `FreezeOptions.known`.
   * Files with unsound objects are left out, so that no later snapshot relies on them.
   */
  versions(id: string): ReadonlyMap<string, string> {
    const ends = new Map<string, number>();
    const files = readableFiles(this.#folder, id);
    for (const { object, offset, length } of files.flatMap(({ extents }) => extents)) {
      ends.set(object, Math.max(ends.get(object) ?? 0, offset + length));
    }
    const unsound = new Set<string>();
    for (const [object, end] of ends) if (!isSound(this.#folder, object, end)) unsound.add(object);
    const sound = files.filter(({ extents }) => extents.every(({ object }) => !unsound.has(object)));
    return new Map(sound.map(({ path, version }) => [path, version]));
  }

  /**
   * Stores the files, and puts them on the disk; nothing refers to them before a manifest does. The id must be unique.
   * The kept files are consumed. Whatever fails, nothing is left in the store.
   */
  store(id: string, frozen: FrozenTree, progress: JobProgress): StoredContent {
    if (!isStoreId(id)) throw new RangeError('this is no id of a store');
    const known = this.#knownFiles(frozen);
    this.#make();
    const isReading = frozen.files.some(({ source }) => source !== undefined);
    const chunks = isReading ? this.#chunks() : new ChunkTable();
    const { files, added } = storeFiles(
      { content: this.#content, storeId: id, chunks },
      frozen,
      known,
      progress,
    );
    return { tree: { folders: frozen.folders, files, links: frozen.links }, added };
  }

  /**
   * Builds the wanted part of the tree in a new folder, checks all content, and puts it on the disk. Refuses (409)
   * damaged content. Whatever fails, nothing is left.
   */
  build(
    tree: ContentTree,
    target: string,
    progress: JobProgress,
    wants: (path: string) => boolean = () => true,
  ): void {
    checkTree(tree);
    const part = wantedPart(tree, wants);
    mkdirSync(target);
    this.#withObjects((objects) => {
      try {
        buildTree(part, this.#content, objects, target, progress);
      } catch (error) {
        rmSync(target, { recursive: true, force: true });
        throw error;
      }
    });
  }

  /** Reads everything and returns the damaged files. No later snapshot relies on the objects of a damaged file. */
  verify(tree: ContentTree, progress: JobProgress): { path: string; reason: string }[] {
    const found: { path: string; reason: string }[] = [];
    progress.expect(tree.files.reduce((sum, { size }) => sum + size, 0));
    this.#withObjects((objects) => {
      for (const file of tree.files) {
        try {
          checkFile(file, objects, progress);
        } catch (error) {
          if (!(error instanceof ContentDamage)) throw error;
          found.push({ path: file.path, reason: error.message });
        }
      }
    });
    return found;
  }

  /** Returns the same tree with all missing digests. Refuses (409) damaged content. */
  seal(tree: ContentTree, progress: JobProgress): ContentTree {
    const unknown = tree.files.filter(({ digest }) => digest === undefined);
    progress.expect(unknown.reduce((sum, { size }) => sum + size, 0));
    return this.#withObjects((objects) => {
      const files = tree.files.map((file) =>
        file.digest === undefined ? { ...file, digest: digestOf(file, objects, progress) } : file,
      );
      return { ...tree, files };
    });
  }

  /**
   * Removes content that no snapshot uses. While a manifest cannot be read nothing is removed, since it is not known
   * which content it uses.
   */
  collect(): void {
    collectObjects(this.#folder);
  }

  /** The bytes that deleting this snapshot would free. */
  uniqueBytes(id: string): number {
    return uniqueBytes(this.#folder, id);
  }

  #make(): void {
    makeFolder(this.#folder);
    ownFolder(this.#folder, CONTENT, true);
  }

  /** The stored chunks that a snapshot uses: others may be removed, or are gone. */
  #chunks(): ChunkTable {
    const table = new ChunkTable();
    for (const [object, ranges] of objectUse(this.#folder).use) {
      if (!isPack(object) || !isSound(this.#folder, object, ranges.end)) continue;
      const records = readPackIndex(join(this.#content, indexOf(object)));
      table.addRecords(object, records, (start, end) => ranges.covers(start, end));
    }
    return table;
  }

  /** The stored files, by path, for the files that need not be read; from the newest snapshot that has them. */
  #knownFiles(frozen: FrozenTree): ReadonlyMap<string, StoredFile> {
    const wanted = new Map<string, string>();
    for (const { path, size, version, source } of frozen.files) {
      if (source === undefined && size > 0) wanted.set(path, version);
    }
    const known = new Map<string, StoredFile>();
    for (const id of wanted.size > 0 ? idsByAge(this.#folder) : []) {
      if (wanted.size === 0) break;
      for (const file of readableFiles(this.#folder, id)) {
        if (wanted.get(file.path) !== file.version) continue;
        known.set(file.path, file);
        wanted.delete(file.path);
      }
    }
    const [missing] = wanted.keys();
    if (missing !== undefined) throw refusals.contentChanging(missing);
    return known;
  }

  #withObjects<Result>(act: (objects: OpenObjects) => Result): Result {
    const objects = new OpenObjects(this.#content);
    try {
      return act(objects);
    } catch (error) {
      throw error instanceof ContentDamage ? refusals.snapshotDamaged(error.message) : error;
    } finally {
      objects.close();
    }
  }
}

/** Newest first. */
function idsByAge(folder: string): string[] {
  const age = (id: string): number =>
    lstatSync(join(folder, manifestName(id)), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return manifestIds(folder)
    .map((id) => ({ id, at: age(id) }))
    .sort((a, b) => b.at - a.at)
    .map(({ id }) => id);
}

function readableFiles(folder: string, id: string): readonly StoredFile[] {
  try {
    return readManifest(folder, id).tree.files;
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}

function wantedPart({ folders, files, links }: ContentTree, wants: (path: string) => boolean): ContentTree {
  const part = {
    files: files.filter(({ path }) => wants(path)),
    links: links.filter(({ path }) => wants(path)),
  };
  const needed = new Set<string>();
  for (const { path } of [...part.files, ...part.links, ...folders.filter(({ path }) => wants(path))]) {
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) needed.add(path.slice(0, end));
  }
  return { ...part, folders: folders.filter(({ path }) => needed.has(path)) };
}
