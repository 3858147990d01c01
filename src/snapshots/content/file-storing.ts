/** Puts frozen files into a content store. Runs in a worker thread. */
import {
  chmodSync,
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { contentVersion, hasSameContent, NO_VERSION } from '../../base/disk/content-version.js';
import { syncFolder } from '../../base/disk/published-file.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import { refusals } from '../../base/errors/errors.js';
import type { ChunkTable } from './chunk-table.js';
import { CHUNK_LENGTH, chunkDigest, ContentDigest, type ChunkSink } from './content-digest.js';
import type { Extent, StoredFile } from './content-tree.js';
import type { FrozenFile, FrozenTree } from './frozen-tree.js';
import type { JobProgress } from './job-progress.js';
import { cloneOf } from './objects.js';
import { Pack } from './pack.js';
import { readable, readSource } from './source-reading.js';

interface FileStore {
  /** The folder of the store's objects. */
  readonly content: string;
  readonly storeId: string;
  /** The chunks that new files may refer to; those that this adds are entered. */
  readonly chunks: ChunkTable;
}

interface StoredFiles {
  readonly files: readonly StoredFile[];
  /** The growth of the store in bytes, without clones: they share their blocks with files of the project. */
  readonly added: number;
}

const OBJECT_MODE = 0o600;
const EMPTY = new ContentDigest().hex();

/**
 * Stores the files of the tree that have a source; `known` has the others, by path. Consumes the kept files. The disk
 * has everything afterwards. Whatever fails, nothing is left.
 */
export function storeFiles(
  store: FileStore,
  { files, keptFolder }: Pick<FrozenTree, 'files' | 'keptFolder'>,
  known: ReadonlyMap<string, StoredFile>,
  progress: JobProgress,
): StoredFiles {
  const most = files.reduce((sum, { source, size }) => (source === undefined ? sum : sum + size), 0);
  progress.expect(most);
  const writer = new ObjectWriter(store, keptFolder, most, progress);
  try {
    const stored = files.map((file): StoredFile => {
      if (file.source !== undefined) return writer.store(file, file.source);
      const { path, size, mode, modifiedMs, isSettled } = file;
      const version = isSettled || size > 0 ? file.version : NO_VERSION;
      const { digest, extents } = known.get(path) ?? { digest: EMPTY, extents: [] };
      return { path, size, mode, modifiedMs, version, digest, extents };
    });
    writer.finish();
    syncFolder(store.content);
    return { files: stored, added: writer.added };
  } catch (error) {
    writer.discard();
    throw error;
  }
}

/** Writes the objects that one snapshot adds: a pack, and clones. */
class ObjectWriter {
  readonly #store: FileStore;
  /** Nothing outside of this folder is moved or removed. */
  readonly #keptFolder: string;
  readonly #pack: Pack;
  readonly #progress: JobProgress;
  readonly #clones: string[] = [];

  constructor(store: FileStore, keptFolder: string, most: number, progress: JobProgress) {
    this.#store = store;
    this.#keptFolder = keptFolder;
    this.#pack = new Pack(store.content, store.storeId, store.chunks, most);
    this.#progress = progress;
  }

  get added(): number {
    return this.#pack.length;
  }

  /** A clone or second name in the kept folder is gone afterwards. */
  store(file: FrozenFile, source: string): StoredFile {
    const { path, size, mode, modifiedMs, keptAs } = file;
    if (keptAs !== 'none' && dirname(source) !== this.#keptFolder)
      throw new RangeError(`${path} is not kept where it should be`);
    const facts = { path, size, mode, modifiedMs };
    // As an object of its own, a small file would take more room than its content.
    if (keptAs === 'clone' && size >= CHUNK_LENGTH) {
      const object = this.#adopt(source);
      this.#progress.advance(size);
      const extents = [{ position: 0, length: size, object, offset: 0 }];
      return { ...facts, version: settled(file, file.version), digest: undefined, extents };
    }
    const { fd } = readable(path, () => openRegularFile(source));
    try {
      const chunks = new ChunkWriter(this.#store.chunks, this.#pack, this.#progress);
      readSource(fd, path, size, chunks);
      return { ...facts, version: finalVersion(file, source, fd), ...chunks.finish() };
    } finally {
      closeSync(fd);
    }
  }

  /** The disk has the content afterwards, but maybe not the names. */
  finish(): void {
    this.#pack.finish();
  }

  discard(): void {
    this.#pack.discard();
    for (const path of this.#clones) rmSync(path, { force: true });
  }

  /** Moves a clone into the store, as an object. */
  #adopt(source: string): string {
    const object = cloneOf(this.#store.storeId, this.#clones.length);
    const path = join(this.#store.content, object);
    this.#clones.push(path);
    renameSync(source, path);
    chmodSync(path, OBJECT_MODE);
    const fd = openSync(path, 'r');
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    return object;
  }
}

/** Writes those chunks of one file that the store does not have. */
class ChunkWriter implements ChunkSink {
  readonly #table: ChunkTable;
  readonly #pack: Pack;
  readonly #progress: JobProgress;
  readonly #digest = new ContentDigest();
  readonly #extents: Extent[] = [];
  #position = 0;

  constructor(table: ChunkTable, pack: Pack, progress: JobProgress) {
    this.#table = table;
    this.#pack = pack;
    this.#progress = progress;
  }

  data(chunk: Uint8Array): void {
    const { length } = chunk;
    const digest = chunkDigest(chunk);
    const place = this.#table.find(digest, length) ?? this.#pack.add(digest, chunk);
    this.#addExtent({ position: this.#position, length, ...place });
    this.#digest.add(digest);
    this.#position += length;
  }

  zeros(length: number): void {
    this.#digest.addZeros(length);
    this.#position += length;
  }

  passed(length: number): void {
    this.#progress.advance(length);
  }

  finish(): Pick<StoredFile, 'digest' | 'extents'> {
    return { digest: this.#digest.hex(), extents: this.#extents };
  }

  /** Merges an extent with the one before, if it continues it both in the file and in the object. */
  #addExtent(extent: Extent): void {
    const last = this.#extents.at(-1);
    if (
      last?.object === extent.object &&
      last.position + last.length === extent.position &&
      last.offset + last.length === extent.offset
    ) {
      this.#extents[this.#extents.length - 1] = { ...last, length: last.length + extent.length };
    } else {
      this.#extents.push(extent);
    }
  }
}

/**
 * The version that the file of the project has once nothing is kept of it: removing a second name changes the version.
 * Refuses (409) when the file was written to while it was read.
 */
function finalVersion(file: FrozenFile, source: string, fd: number): string {
  if (file.keptAs === 'clone' || file.keptAs === 'copy') return settled(file, file.version);
  const read = contentVersion(fstatSync(fd, { bigint: true }));
  const isSame = file.keptAs === 'link' ? hasSameContent(read, file.version) : read === file.version;
  if (!isSame) throw refusals.contentChanging(file.path);
  if (file.keptAs !== 'link') return settled(file, read);
  unlinkSync(source);
  const left = contentVersion(fstatSync(fd, { bigint: true }));
  return read === file.version && hasSameContent(left, read) ? settled(file, left) : NO_VERSION;
}

function settled({ isSettled }: FrozenFile, version: string): string {
  return isSettled ? version : NO_VERSION;
}
