/**
 * Changes the files beside images in the background, one after the other. Of several requests for one image the last
 * counts, so a late digest never stays beside a newer image.
 */
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { ImageTasks } from './image-tasks.js';

export interface SideFilesOptions {
  /** The images folder. */
  readonly folder: string;
  /** The folder of unfinished files. */
  readonly temporary: string;
  readonly disk: TaskRunner<ImageTasks>;
}

interface SideFileRequest {
  readonly version: string;
  readonly md5: string | undefined;
}

export class SideFiles {
  readonly #options: SideFilesOptions;
  readonly #requests = new Map<string, SideFileRequest>();
  #running: Promise<void> | undefined;

  constructor(options: SideFilesOptions) {
    this.#options = options;
  }

  /** Writes the MD5 of this version of an image beside it; without an MD5, removes the file. */
  settle(path: string, version: string, md5: string | undefined): void {
    this.#requests.delete(path);
    this.#requests.set(path, { version, md5 });
    this.#running ??= this.#work();
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #work(): Promise<void> {
    const { disk, folder: root, temporary } = this.#options;
    for (let [first] = this.#requests; first !== undefined; [first] = this.#requests) {
      const [path, request] = first;
      this.#requests.delete(path);
      // A failure only means that other programs do not know the digest.
      await disk.run('settleSideFile', { root, path, temporary, ...request }).catch(() => undefined);
    }
    this.#running = undefined;
  }
}
