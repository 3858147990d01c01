/** Chooses the folders of projects. No two may be the same or lie in each other, nor in the folders of the server. */
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { isBelow } from '../../base/disk/path-order.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { FolderTasks } from './folder-tasks.js';
import { OWN_FOLDER } from './folder-layout.js';

interface PlacedProject {
  readonly id: string;
  readonly name: string;
  readonly record: { readonly path: string };
}

interface ProjectPlacesOptions {
  readonly files: TaskRunner<FolderTasks>;
  /** The projects folder. */
  readonly folder: string;
  /** Whether projects may lie outside the projects folder. */
  readonly allowAnyPath: boolean;
  readonly projects: ReadonlyMap<string, PlacedProject>;
}

export class ProjectPlaces {
  readonly #options: ProjectPlacesOptions;

  constructor(options: ProjectPlacesOptions) {
    this.#options = options;
  }

  /** Refuses a path outside the projects folder that no client may name. */
  checkPath(path: string): void {
    if (!this.#options.allowAnyPath || !isAbsolute(path) || path.includes('"'))
      throw refusals.projectPathRefused();
  }

  /** The wanted path for the project with this id, or the usual one. Refuses a path that no project can have. */
  choose(id: string, wanted: string | null | undefined): string {
    const { folder } = this.#options;
    const path = wanted == null ? this.#usual(id) : resolve(wanted);
    if (wanted == null || path === this.#usual(id)) return path;
    if (path.includes('"') || basename(path).startsWith('.')) throw refusals.projectPathRefused();
    if (!isBelow(folder, path)) this.checkPath(wanted);
    else if (dirname(path) !== folder) throw refusals.projectPathRefused();
    return path;
  }

  /** Refuses a folder that overlaps with that of another project or of the server. */
  async checkAlone(id: string, path: string): Promise<void> {
    const { files, folder, projects } = this.#options;
    const isUsual = path === this.#usual(id);
    // Usual places lie side by side, so they need not be compared with each other.
    const others = [...projects.values()].filter(
      (other) => other.id !== id && !(isUsual && other.record.path === this.#usual(other.id)),
    );
    const own = isBelow(folder, path) ? join(folder, OWN_FOLDER) : folder;
    const folders = [own, ...others.map(({ record }) => record.path)];
    const found = await files.run('findOverlap', { path, folders });
    if (found === undefined) return;
    const owner = others.find(({ record }) => record.path === found);
    if (owner === undefined) throw refusals.projectPathRefused();
    throw refusals.projectPathShared(path, owner.name, found);
  }

  #usual(id: string): string {
    return join(this.#options.folder, id);
  }
}
