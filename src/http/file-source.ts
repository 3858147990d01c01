/** An open file as the source of a response: read piece by piece, and closed with the response. */
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { FileTasks } from '../base/disk/file-tasks.js';
import type { FileReads, ReadPiece } from '../files/downloads/file-reads.js';
import type { PieceSource } from './streams/sized-response.js';

/** So much is read from the disk at once. */
const READ_LENGTH = 256 * 1024;

export interface FileThreads extends TaskRunner<FileTasks> {
  readonly reads: FileReads;
}

export class FileSource implements PieceSource {
  readonly #files: FileThreads;
  readonly #fd: number;
  readonly #start: number;
  readonly #end: number;
  /** The piece that has been read from the disk for the next call. */
  #read: (ReadPiece & { readonly position: number }) | undefined;
  #reading: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** Closes the descriptor with itself. Positions count from `start`; bytes from `end` on are not given. */
  constructor(files: FileThreads, { fd }: { readonly fd: number }, start: number, end: number) {
    this.#files = files;
    this.#fd = fd;
    this.#start = start;
    this.#end = end;
  }

  give(position: number, length: number, use: (bytes: Uint8Array) => void): 'given' | Promise<void> {
    const read = this.#read;
    this.#read = undefined;
    if (read?.position === position) {
      try {
        use(read.bytes);
      } finally {
        // A client that does not take all of the piece now must not keep the memory from others.
        read.giveBack();
      }
      return 'given';
    }
    read?.giveBack();
    const bytes = this.#files.reads.readNow(this.#fd, this.#start + position, length);
    if (bytes === undefined) return this.#readAhead(position);
    use(bytes);
    return 'given';
  }

  /** A descriptor must not be closed under a read: its number may be another file's by then. */
  close(): void {
    this.#isClosed = true;
    const isDone = this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#read?.giveBack();
        return this.#files.run('closeFile', { fd: this.#fd });
      });
    // This fails only when the threads have ended, and their descriptors with them.
    isDone.catch(() => undefined);
  }

  async #readFrom(position: number): Promise<void> {
    const from = this.#start + position;
    const piece = await this.#files.reads.read(this.#fd, from, Math.min(READ_LENGTH, this.#end - from));
    if (piece.bytes.length > 0 && !this.#isClosed) {
      this.#read = { ...piece, position };
      return;
    }
    piece.giveBack();
    if (!this.#isClosed) throw new Error('the file was cut short while it was read');
  }

  #readAhead(position: number): Promise<void> {
    this.#reading = this.#readFrom(position);
    return this.#reading;
  }
}
