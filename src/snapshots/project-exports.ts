/** Archives of projects for clients. A project stays as it is open or closed, and is held still for a moment only. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Refusal, refusals } from '../errors.js';
import { WORK } from '../lab/folder-layout.js';
import type { Project } from '../lab/project.js';
import type { TaskPool } from '../pool/task-pool.js';
import type { Compression } from '../zip/zip-member.js';
import { ArchiveSource } from './archive-source.js';
import type { ExportWish } from './export-plan.js';
import type { BegunArchive, ExportTasks } from './export-tasks.js';
import type { Jobs } from './jobs.js';
import type { Snapshot } from './snapshot.js';
import type { StillTasks } from './still-tasks.js';
import { checkStopped } from './stopped-nodes.js';

export interface ProjectExportsOptions {
  readonly jobs: Jobs;
  readonly longJobs: Pick<TaskPool<StillTasks & ExportTasks>, 'run'>;
  readonly imagesFolder: string;
  readonly gns3Version: string;
}

/** At once: each has some pieces in memory. */
const MOST_EXPORTS = 64;

export class ProjectExports {
  readonly #options: ProjectExportsOptions;
  #running = 0;

  constructor(options: ProjectExportsOptions) {
    this.#options = options;
  }

  /** The source is to be closed in any case. */
  async begin(project: Project, wish: ExportWish, compression: Compression): Promise<ArchiveSource> {
    checkStopped(project);
    return this.#archive(project, (work) =>
      this.#options.jobs.run(project, 'project.export', project.name, () =>
        this.#stage(project, work, wish, compression),
      ),
    );
  }

  /** The same for one of our snapshots, as GNS3 would have made it. */
  async beginSnapshot(project: Project, snapshot: Snapshot): Promise<ArchiveSource> {
    const { jobs, longJobs, gns3Version } = this.#options;
    const input = { root: project.place.folder, projectId: project.id, gns3Version, snapshot };
    return this.#archive(project, (work) =>
      jobs.run(project, 'project.export', snapshot.name, () =>
        longJobs.run('planSnapshotArchive', { ...input, work }),
      ),
    );
  }

  /** An archive that is made of what `begin` puts into the work folder, which is removed when it is over. */
  async #archive(project: Project, begin: (work: string) => Promise<BegunArchive>): Promise<ArchiveSource> {
    if (this.#running >= MOST_EXPORTS) throw refusals.tooBusy();
    this.#running++;
    const work = join(project.place.folder, WORK, randomUUID());
    const release = project.hold();
    const { longJobs } = this.#options;
    const onEnded = async (): Promise<void> => {
      try {
        await longJobs.run('removeWork', { work });
      } catch (error) {
        project.warn(`The folder ${work} could not be removed: ${String(error)}`);
      } finally {
        this.#running--;
        release();
      }
    };
    let begun: BegunArchive;
    try {
      begun = await begin(work);
    } catch (error) {
      await onEnded();
      throw error;
    }
    const warn = (message: string): void => {
      project.warn(message);
    };
    return ArchiveSource.begin(begun, { pieces: longJobs, warn, onEnded });
  }

  async #stage(
    project: Project,
    work: string,
    wish: ExportWish,
    compression: Compression,
  ): Promise<BegunArchive> {
    const { longJobs, imagesFolder: images, gns3Version } = this.#options;
    const root = project.place.folder;
    const records = await project.still(async (stored) => {
      await longJobs.run('holdFiles', { root, work, isForOthers: true }).catch((error: unknown) => {
        throw error instanceof Refusal && error.status === 404 ? refusals.projectFolderGone(root) : error;
      });
      return stored;
    });
    const input = { root, work, projectId: project.id, gns3Version, records, images, compression, wish };
    return longJobs.run('planExport', input);
  }
}
