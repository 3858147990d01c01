/** Taking files into a content store. Runs in a worker thread. */
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
import { refusals } from '../../base/errors/errors.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import type { ChunkSink } from './chunk-sink.js';
import type { ChunkTable } from './chunk-table.js';
import { CHUNK_LENGTH, chunkDigest, ContentDigest } from './content-digest.js';
import type { StoredFile } from './content-tree.js';
import { contentVersion, hasSameContent, NO_VERSION } from '../../base/disk/content-version.js';
import { ExtentList } from './extent-list.js';
import type { JobProgress } from './job-progress.js';
import { cloneOf } from './object-name.js';
import { Pack } from './pack.js';
import { readable } from './source-error.js';
import { readSource } from './source-reading.js';
import type { StillFile } from './still-tree.js';

const OBJECT_MODE = 0o600;

export interface IntakePlace {
  /** The folder of the store's objects. */
  readonly content: string;
  readonly storeId: string;
  /** The folder of what is held: nothing else is moved or removed. */
  readonly held: string;
}

export class Intake {
  readonly #place: IntakePlace;
  readonly #table: ChunkTable;
  readonly #pack: Pack;
  readonly #progress: JobProgress;
  readonly #clones: string[] = [];

  /** The table has what may be relied upon; `most` is the most that there is to store. */
  constructor(place: IntakePlace, table: ChunkTable, most: number, progress: JobProgress) {
    this.#place = place;
    this.#table = table;
    this.#pack = new Pack(place.content, place.storeId, table, most);
    this.#progress = progress;
  }

  /** What the store has grown by so far, besides what shares its blocks with files of the project. */
  get added(): number {
    return this.#pack.length;
  }

  /** A file that has to be read, or is a clone. What holds it is gone afterwards. */
  take(file: StillFile, source: string): StoredFile {
    const { path, size, mode, modifiedMs, hold } = file;
    if (hold !== 'none' && dirname(source) !== this.#place.held)
      throw new RangeError(`${path} is not held where it should be`);
    const facts = { path, size, mode, modifiedMs };
    // A small one would take more than its content as a file of its own.
    if (hold === 'clone' && size >= CHUNK_LENGTH) {
      const object = this.#adopt(source);
      this.#progress.advance(size);
      const extents = [{ position: 0, length: size, object, offset: 0 }];
      return { ...facts, version: settled(file, file.version), digest: undefined, extents };
    }
    const { fd } = readable(path, () => openRegularFile(source));
    try {
      const reading = new Reading(this.#table, this.#pack, this.#progress);
      readSource(fd, path, size, reading);
      return { ...facts, version: finalVersion(file, source, fd), ...reading.finish() };
    } finally {
      closeSync(fd);
    }
  }

  /** The disk has all of it afterwards, but for the names. */
  finish(): void {
    this.#pack.finish();
  }

  discard(): void {
    this.#pack.discard();
    for (const path of this.#clones) rmSync(path, { force: true });
  }

  #adopt(source: string): string {
    const object = cloneOf(this.#place.storeId, this.#clones.length);
    const path = join(this.#place.content, object);
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

class Reading implements ChunkSink {
  readonly #table: ChunkTable;
  readonly #pack: Pack;
  readonly #progress: JobProgress;
  readonly #digest = new ContentDigest();
  readonly #extents = new ExtentList();
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
    this.#extents.add({ position: this.#position, length, ...place });
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
    return { digest: this.#digest.hex(), extents: this.#extents.extents };
  }
}

/**
 * The version that the file of the project will have when nothing holds it any more: giving a second name up changes
 * it. Refuses (409) when the file was written to while it was read.
 */
function finalVersion(file: StillFile, source: string, fd: number): string {
  if (file.hold === 'clone') return settled(file, file.version);
  const read = contentVersion(fstatSync(fd, { bigint: true }));
  const isSame = file.hold === 'link' ? hasSameContent(read, file.version) : read === file.version;
  if (!isSame) throw refusals.contentChanging(file.path);
  if (file.hold !== 'link') return settled(file, read);
  unlinkSync(source);
  const left = contentVersion(fstatSync(fd, { bigint: true }));
  return read === file.version && hasSameContent(left, read) ? settled(file, left) : NO_VERSION;
}

function settled({ isSettled }: StillFile, version: string): string {
  return isSettled ? version : NO_VERSION;
}
