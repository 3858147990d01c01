/**
 * When people used each project last: when somebody typed or read at a console of it, changed it, or watched its packets. The
 * time of day is for people and outlives the server; how long a project has been idle is measured by the monotonic clock.
 */
import type { Key, Store } from '../../base/store/store.js';
import { ABOUT_PROJECTS } from './records.js';
import { Uses } from '../access/uses.js';

interface ProjectUsesOptions {
  readonly store: Store;
  readonly isProject: (id: string) => boolean;
  /** The time of day. */
  readonly now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly clock: () => number;
}

const PROJECT_USES: Key = ABOUT_PROJECTS.uses;

export class ProjectUses {
  readonly #options: ProjectUsesOptions;
  readonly #uses: Uses;
  /** The times of the last uses by the monotonic clock. */
  readonly #since = new Map<string, number>();

  constructor(options: ProjectUsesOptions) {
    this.#options = options;
    this.#uses = new Uses({ store: options.store, isOwner: options.isProject, at: PROJECT_USES });
  }

  start(): Promise<void> {
    return this.#uses.start();
  }

  note(projectId: string): void {
    const { isProject, now, clock } = this.#options;
    // It may just have been removed, and a compute has projects of others.
    if (!isProject(projectId)) return;
    this.#since.set(projectId, clock());
    this.#uses.note(projectId, projectId, now());
  }

  /** The time of day; undefined when nothing is known. */
  last(projectId: string): number | undefined {
    return this.#uses.last(projectId);
  }

  /** For how many milliseconds nobody has used it, as far as this server knows: at most since it was asked first. */
  idleMs(projectId: string): number {
    const { clock } = this.#options;
    const since = this.#since.get(projectId);
    if (since !== undefined) return clock() - since;
    this.#since.set(projectId, clock());
    return 0;
  }

  /** Forgets a project that is removed, which the store does with the project. */
  forget(projectId: string): void {
    this.#since.delete(projectId);
    this.#uses.forget(projectId);
  }

  close(): Promise<void> {
    return this.#uses.close();
  }
}
