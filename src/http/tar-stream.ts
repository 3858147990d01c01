/**
 * Sends files as one tar archive, which is made on the way, in constant memory. Each member is as long as its file was
 * when its turn came: a file that has grown since is cut off there, one that has shrunk is filled up with zeros, and
 * one that has gone is left out.
 */
import { isRefusal } from '../base/errors/errors.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { FileTasks } from '../base/disk/file-tasks.js';
import { TAR_END, tarHeader, tarPadding } from '../base/disk/tar.js';
import type { PlacedFile } from './file-transfer.js';
import type { TailSource } from './streams/tail-flow.js';

interface TarFile extends PlacedFile {
  /** The path within the archive. */
  readonly memberPath: string;
  readonly isExecutable?: boolean;
}

/** A folder, which may be empty. */
interface TarFolder {
  readonly memberPath: string;
  readonly modifiedMs: number;
}

export type TarEntry = TarFile | TarFolder;

type Files = TaskRunner<FileTasks>;

const LONGEST_FILLING = 64 * 1024;
const READ_LENGTH = 256 * 1024;

export class TarStream implements TailSource {
  readonly #files: Files;
  readonly #waiting: TarEntry[];
  #current: FilePieces | undefined;
  /** Bytes of the current member that are still to come; `#fillingLeft` zeros follow them. */
  #contentLeft = 0;
  #position = 0;
  #fillingLeft = 0;
  #state: 'members' | 'over' | 'closed' = 'members';

  constructor(files: Files, entries: readonly TarEntry[]) {
    this.#files = files;
    this.#waiting = [...entries];
  }

  next(): Promise<Uint8Array> | 'over' {
    return this.#state === 'members' ? this.#advance() : 'over';
  }

  onReady(): void {
    // It is always ready.
  }

  close(): void {
    this.#state = 'closed';
    this.#leave();
  }

  async #advance(): Promise<Uint8Array> {
    if (this.#current !== undefined && this.#contentLeft > 0) return this.#content(this.#current);
    if (this.#fillingLeft > 0) return this.#filling();
    this.#leave();
    return (await this.#header()) ?? this.#end();
  }

  async #content(source: FilePieces): Promise<Uint8Array> {
    const piece = await source.read(this.#position, this.#position + this.#contentLeft);
    if (piece.length === 0) {
      this.#fillingLeft += this.#contentLeft;
      this.#contentLeft = 0;
      return this.#filling();
    }
    this.#position += piece.length;
    this.#contentLeft -= piece.length;
    return piece;
  }

  #filling(): Uint8Array {
    const zeros = new Uint8Array(Math.min(this.#fillingLeft, LONGEST_FILLING));
    this.#fillingLeft -= zeros.length;
    return zeros;
  }

  /** The header of the next folder, or of the next file that is still there; undefined when none is left. */
  async #header(): Promise<Uint8Array | undefined> {
    for (let entry = this.#waiting.shift(); entry !== undefined; entry = this.#waiting.shift()) {
      if ('modifiedMs' in entry) return folderHeader(entry);
      const opened = await this.#open(entry);
      if (opened === undefined) continue;
      const { modifiedMs } = opened;
      const size = Math.min(opened.size, entry.most ?? Infinity);
      this.#current = new FilePieces(this.#files, opened);
      this.#position = 0;
      this.#contentLeft = size;
      this.#fillingLeft = tarPadding(size);
      if (this.#state === 'closed') this.#leave();
      const { memberPath, isExecutable = false } = entry;
      return tarHeader({ path: memberPath, size, modifiedMs, isExecutable });
    }
    return undefined;
  }

  async #open({
    root,
    folder,
    path,
  }: TarFile): Promise<{ fd: number; size: number; modifiedMs: number } | undefined> {
    try {
      return await this.#files.run('openFile', { root, folder, path });
    } catch (error) {
      if (isRefusal(error, 'file_missing')) return undefined;
      throw error;
    }
  }

  #end(): Uint8Array {
    this.#state = 'over';
    return new Uint8Array(TAR_END);
  }

  #leave(): void {
    this.#current?.close();
    this.#current = undefined;
  }
}

function folderHeader({ memberPath, modifiedMs }: TarFolder): Uint8Array {
  return tarHeader({ path: `${memberPath}/`, size: 0, modifiedMs });
}

/** An open file that the file threads read piece by piece; each piece is the reader's to keep. */
class FilePieces {
  readonly #files: Files;
  readonly #fd: number;
  #reading: Promise<unknown> = Promise.resolve();

  /** The descriptor is closed with this object. */
  constructor(files: Files, { fd }: { readonly fd: number }) {
    this.#files = files;
    this.#fd = fd;
  }

  /** Reads some bytes from `position` on, and none beyond `end`; returns no bytes when the file ends there. */
  read(position: number, end: number): Promise<Uint8Array> {
    const length = Math.min(READ_LENGTH, end - position);
    const reading = this.#files.run('readPiece', { fd: this.#fd, position, length });
    this.#reading = reading;
    return reading;
  }

  /** A descriptor must not be closed under a read: its number may be another file's by then. */
  close(): void {
    const isDone = this.#reading
      .catch(() => undefined)
      .then(() => this.#files.run('closeFile', { fd: this.#fd }));
    // This fails only when the threads have ended, and their descriptors with them.
    isDone.catch(() => undefined);
  }
}
