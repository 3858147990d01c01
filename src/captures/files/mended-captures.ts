/**
 * The captures that were being written when a server was killed. Their files are read to their ends once, when their project is
 * loaded; what was counted is kept until they go on.
 */
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { CaptureFileTasks, CountedFile } from './capture-file-tasks.js';

/** The files of so many projects are remembered. Those of others are read again. */
const MOST_PROJECTS = 1000;

export class MendedCaptures {
  readonly #files: TaskRunner<Pick<CaptureFileTasks, 'mendCaptures'>>;
  /** By the folder of the project. */
  readonly #counted = new Map<string, readonly CountedFile[]>();

  constructor(files: TaskRunner<Pick<CaptureFileTasks, 'mendCaptures'>>) {
    this.#files = files;
  }

  /** Cuts off records that are incomplete. No capture of the project may be running. */
  async mend(root: string): Promise<void> {
    const counted = await this.#files.run('mendCaptures', { root });
    this.#counted.delete(root);
    if (counted.length > 0 && this.#counted.size < MOST_PROJECTS) this.#counted.set(root, counted);
  }

  /** The counts of files of these names. A file is as it was when its version is the same. */
  countedIn(root: string, names: readonly string[]): CountedFile[] {
    return (this.#counted.get(root) ?? []).filter(({ name }) => names.includes(name));
  }
}
