/** What leads from projects to other projects: archives out and in, and duplicates. */
import type { Farm } from '../../lab/farm.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { CopyTasks } from './copy-tasks.js';
import type { ExportTasks } from './export-tasks.js';
import type { ImportTasks } from './import-tasks.js';
import type { Jobs } from '../jobs.js';
import type { MakingTasks } from './making-tasks.js';
import { ProjectCopies } from './project-copies.js';
import { ProjectExports } from './project-exports.js';
import { ProjectImports } from './project-imports.js';
import { ProjectMakings } from './project-makings.js';
import type { StillTasks } from '../still-tasks.js';

export type ExchangeTasks = CopyTasks & ExportTasks & ImportTasks & MakingTasks & StillTasks;

export interface ProjectExchange {
  readonly exports: ProjectExports;
  readonly imports: ProjectImports;
  readonly copies: ProjectCopies;
}

export interface ProjectExchangeOptions {
  readonly farm: Farm;
  readonly jobs: Jobs;
  readonly longJobs: TaskRunner<ExchangeTasks>;
  readonly imagesFolder: string;
  /** On the same file system as that. */
  readonly temporaryImages: string;
  /** Where all jobs have their notes. */
  readonly notes: string;
}

export function projectExchange({ farm, ...options }: ProjectExchangeOptions): ProjectExchange {
  const { projects, computes, announcements, gns3Version } = farm;
  const makings = new ProjectMakings({ ...options, projects, gns3Version });
  return {
    exports: new ProjectExports({ ...options, gns3Version }),
    imports: new ProjectImports({ ...options, projects, computes, makings, announcements }),
    copies: new ProjectCopies({ ...options, makings }),
  };
}
