/** One file of a log: which stretch of the log is in it, and its descriptor while anybody reads it. */
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { FileTasks } from '../../base/disk/file-tasks.js';

export type FileReads = TaskRunner<FileTasks>;

export class FileSegment {
  readonly fd: number;
  /** The position of its first record. */
  readonly start: number;
  /** The position after its last record; undefined while it grows. */
  end: number | undefined;
  readonly #headerLength: number;
  readonly #close: (fd: number) => void;
  #reads = 0;
  #isGivenUp = false;

  constructor(fd: number, start: number, headerLength: number, close: (fd: number) => void) {
    this.fd = fd;
    this.start = start;
    this.#headerLength = headerLength;
    this.#close = close;
  }

  /** What the file has from a position of the log on, at most `length`. */
  async read(files: FileReads, position: number, length: number): Promise<Uint8Array> {
    if (this.#isGivenUp) throw new Error('a file of a capture was read after it was closed');
    this.#reads++;
    try {
      return await files.run('readPiece', {
        fd: this.fd,
        position: this.#headerLength + position - this.start,
        length,
      });
    } finally {
      this.#reads--;
      this.#closeWhenDone();
    }
  }

  /** Nobody begins to read it any more. */
  giveUp(): void {
    if (this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#closeWhenDone();
  }

  /** A descriptor must not be closed under a read: its number may be another file's by then. */
  #closeWhenDone(): void {
    if (this.#isGivenUp && this.#reads === 0) this.#close(this.fd);
  }
}
