/** Projects that are made beside their place, from what is there already: all of each, or nothing of it. */
import { dirname, join } from 'node:path';
import { MAKING_PREFIX } from '../lab/folder-layout.js';
import type { Projects } from '../lab/projects.js';
import type { TaskPool } from '../pool/task-pool.js';
import type { MakingTasks } from './making-tasks.js';

export interface ProjectMakingsOptions {
  readonly projects: Projects;
  readonly longJobs: Pick<TaskPool<MakingTasks>, 'run'>;
  readonly gns3Version: string;
}

export interface WantedProject {
  readonly id: string;
  /** Outside the projects folder; null for the usual place. */
  readonly path: string | null;
}

export class ProjectMakings {
  readonly #options: ProjectMakingsOptions;

  constructor(options: ProjectMakingsOptions) {
    this.#options = options;
  }

  /**
   * `fill` makes all of the project but its topology file in a folder, and returns the wanted name. Returns the text of
   * the project, which is closed.
   */
  async make({ id, path }: WantedProject, fill: (making: string) => Promise<string>): Promise<string> {
    const { projects, longJobs, gns3Version } = this.#options;
    const making = join(dirname(await projects.freePlace(id, path)), `${MAKING_PREFIX}${id}`);
    const input = { projects: projects.folder, making };
    try {
      await longJobs.run('beginMaking', input);
      const name = await fill(making);
      return await projects.takeIn(id, name, {
        place: path,
        finish: (head) => longJobs.run('finishMaking', { ...head, making, projectId: id, gns3Version }),
        settle: (place) => longJobs.run('settleMaking', { ...input, place }),
      });
    } catch (error) {
      await longJobs.run('dropMaking', input);
      throw error;
    }
  }
}
