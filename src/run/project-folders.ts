/**
 * Folders of compute projects: a project has the folder of the controller's project of the same id, when there is
 * one, else a folder of its own. No lab can be lost here: a folder is removed only when we made it, when no project
 * of the controller has a part in it, and when it holds no topology file.
 */
import { join } from 'node:path';
import { refusals } from '../base/errors/errors.js';
import type { Project } from '../lab/projects/project.js';
import type { Projects } from '../lab/projects/projects.js';
import { isBelow } from '../base/disk/path-order.js';
import type { ComputeFiles } from './files.js';

export class ProjectFolders {
  readonly #root: string;
  readonly #projects: Projects;
  readonly #files: ComputeFiles;

  constructor(root: string, projects: Projects, files: ComputeFiles) {
    this.#root = root;
    this.#projects = projects;
    this.#files = files;
  }

  /** The controller's project of this id. */
  ownerOf(id: string): Project | undefined {
    return this.#projects.all.get(id);
  }

  usualFolder(id: string): string {
    return join(this.#root, id);
  }

  /** Makes the folder of a project, unless it is the controller's. */
  async prepare(id: string, folder: string): Promise<void> {
    await this.#projects.undisturbed(async () => {
      const owner = this.#partOwner(id, folder);
      if (owner?.id === id) return;
      if (owner !== undefined) throw refusals.projectPathExists(folder);
      await this.#files.run('makeFolder', { folder });
      // Remove the temporary files of a crash, but not from a folder that a client named: there they may be anything.
      if (folder === this.usualFolder(id)) await this.#files.run('emptyTemporary', { folder });
    });
  }

  /** Removes the folder of a project that was closed, unless a lab could be lost. */
  async remove(id: string, folder: string): Promise<void> {
    if (folder !== this.usualFolder(id)) return;
    const aside = await this.#projects.undisturbed(async () => {
      if (this.#partOwner(id, folder) !== undefined) return undefined;
      if (await this.#files.run('hasTopology', { folder })) return undefined;
      const removal = await this.#projects.asides.beginRemoval(null);
      await this.#files.run('moveFolder', { from: folder, to: removal.folder });
      return removal;
    });
    if (aside !== undefined) await this.#projects.asides.remove(aside);
  }

  /** Finds the controller's project that has this id, or whose folder is this folder, holds it or lies in it. */
  #partOwner(id: string, folder: string): Project | undefined {
    const byId = this.#projects.all.get(id);
    if (byId !== undefined) return byId;
    return [...this.#projects.all.values()].find(({ record: { path } }) => {
      return path === folder || isBelow(path, folder) || isBelow(folder, path);
    });
  }
}
