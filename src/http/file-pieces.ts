/** An open file that is read piece by piece by the file threads, each piece the reader's to keep. */
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { FileTasks } from '../base/disk/file-tasks.js';

const READ_LENGTH = 256 * 1024;

export class FilePieces {
  readonly #files: TaskRunner<FileTasks>;
  readonly #fd: number;
  #reading: Promise<unknown> = Promise.resolve();

  /** Takes the descriptor over. */
  constructor(files: TaskRunner<FileTasks>, { fd }: { readonly fd: number }) {
    this.#files = files;
    this.#fd = fd;
  }

  /** Some bytes from `position` on, before `end`; none when the file ends there. */
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
    // Fails only when the threads have ended, and their descriptors with them.
    isDone.catch(() => undefined);
  }
}
