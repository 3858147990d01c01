/** An open file that is read piece by piece by the file threads, and closed when nobody reads it any more. */
import type { TaskPool } from '../pool/task-pool.js';
import type { FileTasks } from '../storage/file-tasks.js';

const READ_LENGTH = 256 * 1024;

export class FileSource {
  readonly #files: Pick<TaskPool<FileTasks>, 'run'>;
  readonly #fd: number;
  #reading: Promise<unknown> = Promise.resolve();

  /** Takes the descriptor over. */
  constructor(files: Pick<TaskPool<FileTasks>, 'run'>, { fd }: { readonly fd: number }) {
    this.#files = files;
    this.#fd = fd;
  }

  /** Some bytes from `position` on, before `end`. Rejects when the file has none there any more. */
  async read(position: number, end: number): Promise<Uint8Array> {
    const piece = await this.readSome(position, end);
    if (piece.length === 0) throw new Error('the file was cut short while it was read');
    return piece;
  }

  /** None when the file ends there. */
  readSome(position: number, end: number): Promise<Uint8Array> {
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
