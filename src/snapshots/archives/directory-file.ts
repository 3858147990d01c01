/** The central directory of an archive that is being made: a file beside the plan. Runs in worker threads. */
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

export class DirectoryFile {
  readonly #path: string;

  constructor(plan: string) {
    this.#path = `${plan}.directory`;
  }

  /** What an archive left there that came to no end goes when the first is written. */
  keep(records: Buffer, position: number): void {
    const fd = openSync(this.#path, position === 0 ? 'w' : 'r+', 0o600);
    try {
      for (let done = 0; done < records.length;)
        done += writeSync(fd, records, done, records.length - done, position + done);
    } finally {
      closeSync(fd);
    }
  }

  /** At least one byte, at most so many. */
  read(position: number, length: number): Buffer {
    const fd = openSync(this.#path, 'r');
    try {
      const records = Buffer.allocUnsafe(length);
      const count = readSync(fd, records, 0, length, position);
      if (count === 0) throw new Error('the directory of the archive is cut off');
      return records.subarray(0, count);
    } finally {
      closeSync(fd);
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}
