/** Exports, imports and duplicates of projects. */
import type { Controller } from '../../lab/controller.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { Quotas } from '../../lab/quotas/quotas.js';
import type { CopyTasks } from './copy-tasks.js';
import type { ExportTasks } from './export-tasks.js';
import type { ImportTasks } from './import-tasks.js';
import type { KnownMemories } from '../known-memories.js';
import type { Jobs } from '../jobs.js';
import type { StagingTasks } from './staging-tasks.js';
import { ProjectCopies } from './project-copies.js';
import { ProjectExports } from './project-exports.js';
import { ProjectImports } from './project-imports.js';
import { ProjectStaging } from './project-staging.js';
import type { FreezeTasks } from '../freeze-tasks.js';

export type ArchiveTasks = CopyTasks & ExportTasks & ImportTasks & StagingTasks & FreezeTasks;

export interface ProjectArchives {
  readonly exports: ProjectExports;
  readonly imports: ProjectImports;
  readonly copies: ProjectCopies;
}

interface ProjectArchivesOptions {
  readonly controller: Controller;
  readonly jobs: Jobs;
  readonly quotas: Quotas;
  readonly memories: KnownMemories;
  readonly longJobs: TaskRunner<ArchiveTasks>;
  readonly imagesFolder: string;
  /** On the same file system as `imagesFolder`. */
  readonly temporaryImages: string;
  /** The folder that has the notes of all jobs. */
  readonly notes: string;
}

export function projectArchives({ controller, ...options }: ProjectArchivesOptions): ProjectArchives {
  const { projects, computes, announcements, gns3Version } = controller;
  const staging = new ProjectStaging({ ...options, projects, gns3Version });
  return {
    exports: new ProjectExports({ ...options, gns3Version }),
    imports: new ProjectImports({ ...options, projects, computes, staging, announcements }),
    copies: new ProjectCopies({ ...options, staging }),
  };
}
