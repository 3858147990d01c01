/** Duplicates projects, open or closed. */
import { randomUUID } from 'node:crypto';
import { Refusal, refusals } from '../../base/errors/errors.js';
import type { Quotas } from '../../lab/quotas/quotas.js';
import type { ProjectClaim } from '../../lab/projects/project-lifetime.js';
import type { Project } from '../../lab/projects/project.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { CopyTasks } from './copy-tasks.js';
import { jobPlace } from '../job-place.js';
import type { Job, JobAsker, Jobs } from '../jobs.js';
import type { ProjectStaging } from './project-staging.js';
import type { FreezeTasks } from '../freeze-tasks.js';
import { checkStopped } from '../stopped-nodes.js';

interface ProjectCopiesOptions {
  readonly jobs: Jobs;
  readonly quotas: Pick<Quotas, 'claimFor' | 'usageOfProject'>;
  readonly longJobs: TaskRunner<CopyTasks & FreezeTasks>;
  readonly staging: ProjectStaging;
  /** The folder that has the notes of all jobs. */
  readonly notes: string;
}

interface CopyRequest {
  /** The id of the copy; a new one without it. */
  readonly id?: string;
  readonly name: string;
  /** A path outside of the projects folder; null for the usual place. */
  readonly path: string | null;
  readonly resetsAddresses: boolean;
  /** The names of the snapshots that go along, of those that this server made; all go along without it. */
  readonly snapshots?: readonly string[];
  readonly claim: ProjectClaim;
}

export class ProjectCopies {
  readonly #options: ProjectCopiesOptions;

  constructor(options: ProjectCopiesOptions) {
    this.#options = options;
  }

  /** Returns the text of the copy, which is closed. */
  duplicate(project: Project, request: CopyRequest, asker?: JobAsker): Promise<string> {
    const { jobs, staging, quotas } = this.#options;
    const { id: copyId = randomUUID() } = request;
    const copy = async (job: Job): Promise<string> => {
      checkCopied(project);
      // The copy takes as much as the original, as far as that is known, until it is measured itself.
      const disk = quotas.usageOfProject(project.id).disk.used;
      const giveBack = quotas.claimFor(request.claim.userId, { disk });
      try {
        return await staging.make({ ...request, id: copyId }, async (stagingFolder) => {
          await this.#fill(project, copyId, stagingFolder, request, job);
          // Throws if the job was cancelled; from here on it cannot be.
          job.progress.advance(0);
          return request.name;
        });
      } finally {
        giveBack();
      }
    };
    return jobs.run(project, 'project.duplicate', request.name, copy, asker);
  }

  async #fill(
    project: Project,
    copyId: string,
    stagingFolder: string,
    { resetsAddresses, snapshots }: CopyRequest,
    { id, progress }: Job,
  ): Promise<void> {
    const { longJobs, notes } = this.#options;
    const place = jobPlace(notes, project.place.folder, id);
    try {
      const records = await project.still(async (stored) => {
        await longJobs.run('freezeProject', { ...place, isForOthers: true });
        return stored;
      });
      const input = {
        ...place,
        ...{ stagingFolder, projectId: project.id, copyId, records, resetsAddresses, snapshots },
      };
      const warnings = await longJobs.run('copyProject', { ...input, progress: progress.memory });
      for (const warning of warnings) project.warn(warning);
    } finally {
      // Best effort: leftovers are removed when the project is opened.
      await longJobs.run('removeWork', { paths: [place.notes, place.workFolder] }).catch((error: unknown) => {
        project.warn(`The files of a job cannot be removed: ${String(error)}`);
      });
    }
  }
}

function checkCopied(project: Project): void {
  try {
    checkStopped(project);
  } catch (error) {
    throw error instanceof Refusal ? refusals.projectNotDuplicated(error.message) : error;
  }
}
