/** Files in gzip: each version is compressed once, in a file thread, and kept in memory within bounds. */
import type { FileTasks } from '../base/disk/file-tasks.js';
import type { TaskRunner } from '../base/threads/task-pool.js';

const LARGEST_FILE = 16 * 1024 * 1024;
const MOST_KEPT = 32 * 1024 * 1024;

interface GzippedFile {
  readonly version: string;
  readonly bytes: Uint8Array;
}

export class GzippedFiles {
  readonly #files: TaskRunner<FileTasks>;
  /** By path below the root; those that were compressed last are the last. */
  readonly #kept = new Map<string, GzippedFile>();
  #keptLength = 0;

  constructor(files: TaskRunner<FileTasks>) {
    this.#files = files;
  }

  /** Undefined for a file that is too large. Refuses what cannot be opened. */
  async find(root: string, path: string): Promise<GzippedFile | undefined> {
    const known = this.#kept.get(path);
    const input = { root, path, known: known?.version, limit: LARGEST_FILE };
    const { version, bytes } = await this.#files.run('gzipFile', input);
    if (bytes === undefined) return version === known?.version ? known : undefined;
    const found = { version, bytes };
    this.#keep(path, found);
    return found;
  }

  #keep(path: string, file: GzippedFile): void {
    this.#forget(path);
    this.#kept.set(path, file);
    this.#keptLength += file.bytes.length;
    for (const [oldest] of this.#kept) {
      if (this.#keptLength <= MOST_KEPT) return;
      this.#forget(oldest);
    }
  }

  #forget(path: string): void {
    this.#keptLength -= this.#kept.get(path)?.bytes.length ?? 0;
    this.#kept.delete(path);
  }
}

/** Whether an `Accept-Encoding` header names the coding, and does not forbid it. */
export function acceptsCoding(header: string, wanted: string): boolean {
  return header.split(',').some((part) => {
    const [coding = '', weight = ''] = part.split(';');
    return coding.trim().toLowerCase() === wanted && !/^\s*q=0(\.0*)?\s*$/i.test(weight);
  });
}
