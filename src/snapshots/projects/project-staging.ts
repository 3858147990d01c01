/** Makes projects from copied or imported content in a staging folder, and then moves them to their place as a whole. */
import type { ProjectClaim } from '../../lab/projects/project-lifetime.js';
import type { Projects } from '../../lab/projects/projects.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { StagingTasks } from './staging-tasks.js';

interface ProjectStagingOptions {
  readonly projects: Projects;
  readonly longJobs: TaskRunner<StagingTasks>;
  readonly gns3Version: string;
}

interface WantedProject {
  readonly id: string;
  /** A path outside of the projects folder; null for the usual place. */
  readonly path: string | null;
  readonly claim: ProjectClaim;
}

export class ProjectStaging {
  readonly #options: ProjectStagingOptions;

  constructor(options: ProjectStagingOptions) {
    this.#options = options;
  }

  /**
   * `fill` makes everything but the topology file in the staging folder, and returns the wanted name. Returns the text of
   * the project, which is closed.
   */
  async make(
    { id, path, claim }: WantedProject,
    fill: (stagingFolder: string) => Promise<string>,
  ): Promise<string> {
    const { projects, longJobs, gns3Version } = this.#options;
    const aside = await projects.asides.beginMaking(await projects.freePlace(id, path));
    const stagingFolder = aside.folder;
    try {
      await longJobs.run('beginStaging', { stagingFolder });
      const name = await fill(stagingFolder);
      const text = await projects.takeIn(id, name, {
        aside,
        place: path,
        claim,
        finish: (head) =>
          longJobs.run('finishStaging', { ...head, stagingFolder, projectId: id, gns3Version }),
        settle: (place) => longJobs.run('settleStaging', { stagingFolder, place }),
      });
      await projects.asides.end(aside);
      return text;
    } catch (error) {
      await longJobs.run('dropStaging', { stagingFolder });
      await projects.asides.end(aside);
      throw error;
    }
  }
}
