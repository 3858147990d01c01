/** Builds files of a snapshot in a folder, and checks stored files. Runs in a worker thread. */
import { chmodSync, lstatSync, lutimesSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { cloneFile } from '../../base/disk/linux-files.js';
import { BulkFile } from '../../base/disk/bulk-file.js';
import { chunkDigest, ContentDigest, type ChunkSink } from './content-digest.js';
import type { ContentTree, StoredFile } from './content-tree.js';
import type { JobProgress } from './job-progress.js';
import { isPack } from './objects.js';
import { ContentDamage, readPieces, type OpenObjects } from './object-reading.js';
import { syncTree } from '../../base/disk/tree-sync.js';

const UNFINISHED_MODE = 0o700;

/** The target must be empty. The disk has everything afterwards but the target's own name. Throws `ContentDamage`. */
export function buildTree(
  { folders, files, links }: ContentTree,
  content: string,
  objects: OpenObjects,
  target: string,
  progress: JobProgress,
): void {
  progress.expect(files.reduce((sum, { size }) => sum + size, 0));
  for (const { path } of folders) mkdirSync(join(target, path), UNFINISHED_MODE);
  for (const file of files) {
    const path = join(target, file.path);
    distrustingDamage(file, objects, () => {
      buildFile(file, content, objects, path, progress);
    });
    setModified(path, file.modifiedMs);
  }
  for (const { path, target: text } of links) symlinkSync(text, join(target, path));
  syncTree(target, folders.map(pathOf), files.map(pathOf));
  // Last, because these modes may forbid writing into the folders.
  for (const { path, mode } of [...folders].reverse()) chmodSync(join(target, path), mode);
}

/** Reads the whole file. Throws `ContentDamage` if it cannot be read, or has not the stored digest, if that is known. */
export function checkFile(file: StoredFile, objects: OpenObjects, progress: JobProgress): void {
  distrustingDamage(file, objects, () => {
    const digest = digestOf(file, objects, progress);
    if (file.digest !== undefined && digest !== file.digest) throw otherContent(file);
  });
}

/** Throws `ContentDamage`. */
export function digestOf(file: StoredFile, objects: OpenObjects, progress: JobProgress): string {
  const content = new Content(progress);
  readPieces(objects, file, content);
  return content.hex();
}

function distrustingDamage(file: StoredFile, objects: OpenObjects, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (error instanceof ContentDamage) objects.distrust(file.extents.map(({ object }) => object));
    throw error;
  }
}

function buildFile(
  file: StoredFile,
  content: string,
  objects: OpenObjects,
  path: string,
  progress: JobProgress,
): void {
  if (!isCloned(file, content, path)) {
    writeFile(file, objects, path, progress);
    return;
  }
  // Without a digest there is nothing to check it against.
  if (file.digest === undefined) progress.advance(file.size);
  else checkFile(file, objects, progress);
  chmodSync(path, file.mode);
}

function otherContent({ path }: StoredFile): ContentDamage {
  return new ContentDamage(`the content of ${path} is not what was stored`);
}

/** Returns false if the content is in a pack, or blocks cannot be shared. */
function isCloned(file: StoredFile, content: string, path: string): boolean {
  const [extent] = file.extents;
  if (extent === undefined || isPack(extent.object)) return false;
  const { object, offset, length } = extent;
  const source = join(content, object);
  const found = lstatSync(source, { throwIfNoEntry: false });
  if (found?.isFile() !== true) throw new ContentDamage(`${object} is missing`);
  if (offset !== 0 || length !== file.size || found.size !== length) return false;
  return cloneFile(source, path);
}

function writeFile(file: StoredFile, objects: OpenObjects, path: string, progress: JobProgress): void {
  const built = BulkFile.create(path, file.mode, file.size);
  try {
    const content = new Content(progress, built);
    readPieces(objects, file, content);
    if (file.digest !== undefined && content.hex() !== file.digest) throw otherContent(file);
    built.finish(false);
  } catch (error) {
    built.discard();
    throw error;
  }
}

/** Computes the digest of what passes. */
class Content implements ChunkSink {
  readonly #progress: JobProgress;
  readonly #built: BulkFile | undefined;
  readonly #digest = new ContentDigest();

  /** The content is also written to the file, if there is one. */
  constructor(progress: JobProgress, built?: BulkFile) {
    this.#progress = progress;
    this.#built = built;
  }

  data(chunk: Uint8Array): void {
    this.#digest.add(chunkDigest(chunk));
    this.#built?.write(chunk);
  }

  zeros(length: number): void {
    this.#digest.addZeros(length);
    this.#built?.skip(length);
  }

  passed(length: number): void {
    this.#progress.advance(length);
  }

  hex(): string {
    return this.#digest.hex();
  }
}

/** Node.js takes a negative number for the current time, but not a negative date. */
function setModified(path: string, modifiedMs: number): void {
  const time = modifiedMs < 0 ? new Date(modifiedMs) : modifiedMs / 1000;
  lutimesSync(path, time, time);
}

function pathOf({ path }: { readonly path: string }): string {
  return path;
}
