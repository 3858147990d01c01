/** Reads stored files from front to back, from the objects of a content store. Runs in a worker thread. */
import { closeSync, existsSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../../base/errors/errors.js';
import { dataRanges, readNext, readOnlyWhatIsAskedFor } from '../../base/disk/linux-files.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import {
  chunkEnd,
  chunkStart,
  PIECE_LENGTH,
  sinkPiece,
  sinkZeros,
  type ChunkSink,
} from './content-digest.js';
import type { Extent, StoredFile } from './content-tree.js';
import { damageMarkOf, isObject, isPack } from './objects.js';

const MOST_OPEN = 16;

/** Stored content is damaged; the message says how. */
export class ContentDamage extends Error {}

interface OpenObject {
  readonly fd: number;
  readonly size: number;
}

export class OpenObjects {
  readonly #content: string;
  /** In the order of their last use. */
  readonly #open = new Map<string, OpenObject>();

  constructor(content: string) {
    this.#content = content;
  }

  /** Fills the target. `next` bytes after these will be read next. Throws `ContentDamage`. */
  read(object: string, target: Uint8Array, offset: number, next: number): void {
    const { fd } = this.#opened(object);
    readNext(fd, offset + target.length, Math.min(next, PIECE_LENGTH));
    let done = 0;
    while (done < target.length) {
      const count = inObject(object, () => readSync(fd, target, done, target.length - done, offset + done));
      if (count === 0) throw new ContentDamage(`${object} is too short`);
      done += count;
    }
  }

  /** The parts of the extent that have data: clones have the holes of their originals. */
  *dataOf(extent: Extent): Generator<Extent, void, undefined> {
    const { fd, size } = this.#opened(extent.object);
    const end = extent.offset + extent.length;
    if (end > size) throw new ContentDamage(`${extent.object} is too short`);
    if (isPack(extent.object)) {
      yield extent;
      return;
    }
    for (const range of dataRanges(fd, end)) {
      const start = Math.max(range.start, extent.offset);
      if (start >= range.end) continue;
      const position = extent.position + start - extent.offset;
      yield { object: extent.object, offset: start, position, length: range.end - start };
    }
  }

  /** Marks objects as damaged, so that later snapshots do not rely on them. Best effort. */
  distrust(names: readonly string[]): void {
    for (const name of new Set(names)) {
      const path = join(this.#content, name);
      try {
        if (isObject(name) && existsSync(path)) writeFileSync(damageMarkOf(path), '');
      } catch {
        // The disk is full, or read-only.
      }
    }
  }

  close(): void {
    for (const { fd } of this.#open.values()) closeSync(fd);
    this.#open.clear();
  }

  #opened(object: string): OpenObject {
    const known = this.#open.get(object);
    if (known !== undefined) {
      this.#open.delete(object);
      this.#open.set(object, known);
      return known;
    }
    if (!isObject(object)) throw new ContentDamage('it names no object');
    const opened = inObject(object, () => openRegularFile(join(this.#content, object)));
    readOnlyWhatIsAskedFor(opened.fd);
    const [oldest] = this.#open;
    if (oldest !== undefined && this.#open.size >= MOST_OPEN) {
      this.#open.delete(oldest[0]);
      closeSync(oldest[1].fd);
    }
    this.#open.set(object, opened);
    return opened;
  }
}

/** Turns errors of the system into damage of the object. */
function inObject<Result>(object: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (error instanceof Refusal) throw new ContentDamage(`${object} is no file`);
    if (code === 'ENOENT') throw new ContentDamage(`${object} is missing`);
    if (code === 'EIO' || code === 'ELOOP') throw new ContentDamage(`${object} cannot be read: ${code}`);
    throw error;
  }
}

const buffer = Buffer.allocUnsafeSlow(PIECE_LENGTH);

/** Feeds the whole file to the sink, reading its extents only. Throws `ContentDamage`. */
export function readPieces(objects: OpenObjects, { size, extents }: StoredFile, sink: ChunkSink): void {
  const runs = dataRuns(objects, extents);
  let run = runs.next().value;
  let position = 0;
  while (run !== undefined) {
    const start = Math.max(position, chunkStart(run.position));
    sinkZeros(start - position, sink);
    const end = Math.min(start + PIECE_LENGTH, size);
    let filled = start;
    while (run !== undefined && run.position < end) {
      const from = Math.max(run.position, start);
      const to = Math.min(run.position + run.length, end);
      buffer.fill(0, filled - start, from - start);
      const next = run.position + run.length - to;
      objects.read(
        run.object,
        buffer.subarray(from - start, to - start),
        run.offset + from - run.position,
        next,
      );
      filled = to;
      if (next > 0) break;
      run = runs.next().value;
    }
    position = Math.min(chunkEnd(filled), size);
    buffer.fill(0, filled - start, position - start);
    sinkPiece(buffer.subarray(0, position - start), sink);
  }
  sinkZeros(size - position, sink);
}

function* dataRuns(
  objects: OpenObjects,
  extents: readonly Extent[],
): Generator<Extent, undefined, undefined> {
  for (const extent of extents) yield* objects.dataOf(extent);
  return undefined;
}
