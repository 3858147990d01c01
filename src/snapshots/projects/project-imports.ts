/** Imports projects from archives. A project is visible only once it is complete. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import type { Channel } from '../../base/streams/channel.js';
import type { Computes } from '../../lab/computes.js';
import type { ProjectClaim } from '../../lab/projects/project-lifetime.js';
import { INCOMING } from '../../lab/projects/folder-layout.js';
import type { Quotas } from '../../lab/quotas/quotas.js';
import type { Projects } from '../../lab/projects/projects.js';
import { uuid } from '../../lab/gns3-file/topology-schema.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { Landing } from '../../files/transfer/landing.js';
import type { ImportTasks } from './import-tasks.js';
import type { KnownMemories, SnapshotMemory } from '../known-memories.js';
import type { Job, JobAsker, Jobs } from '../jobs.js';
import type { ProjectStaging } from './project-staging.js';
import type { FreezeTasks } from '../freeze-tasks.js';

interface ProjectImportsOptions {
  readonly projects: Projects;
  readonly computes: Computes;
  readonly jobs: Jobs;
  readonly quotas: Pick<Quotas, 'claimFor'>;
  readonly memories: KnownMemories;
  readonly longJobs: TaskRunner<ImportTasks & FreezeTasks>;
  readonly staging: ProjectStaging;
  readonly announcements: Channel;
  readonly imagesFolder: string;
  /** On the same file system as `imagesFolder`. */
  readonly temporaryImages: string;
}

interface ImportRequest {
  readonly id: string;
  /** Replaces the name in the archive. */
  readonly name: string | undefined;
  /** A path outside of the projects folder; null for the usual place. */
  readonly path: string | null;
  readonly claim: ProjectClaim;
}

/** Only the server may read it. */
const ARCHIVE_MODE = 0o600;
/** Each import has a project of its own; all imports share one lane. */
const IMPORTS = 'imports';

export class ProjectImports {
  readonly #options: ProjectImportsOptions;

  constructor(options: ProjectImportsOptions) {
    this.#options = options;
  }

  /** Where the archive lies until it is unpacked. Refuses impossible requests before the archive is received. */
  landing({ id, path, claim }: Omit<ImportRequest, 'name'>): Landing {
    const { projects, quotas } = this.#options;
    if (!uuid.safeParse(id).success) throw refusals.idNoUuid('Project', id);
    if (path !== null) {
      projects.checkPath(path);
      if (path.includes('.gns3')) throw refusals.importPathOfFile();
    }
    if (projects.all.has(id)) throw refusals.importOverProject(id);
    const name = `${randomUUID()}.zip`;
    return {
      root: projects.folder,
      folder: INCOMING,
      path: name,
      makesFolders: true,
      temporary: join(projects.folder, INCOMING, 'tmp'),
      mode: ARCHIVE_MODE,
      subject: { project_id: id, path: name },
      takeRoom: (bytes) => Promise.resolve(quotas.claimFor(claim.userId, { disk: bytes })),
    };
  }

  /** Returns the text of the project, which is closed. Removes the archive. */
  async import({ id, name, path, claim }: ImportRequest, landing: Landing, asker: JobAsker): Promise<string> {
    const { projects, jobs, longJobs, memories, staging, temporaryImages } = this.#options;
    let taken: readonly SnapshotMemory[] = [];
    const archive = join(projects.folder, INCOMING, landing.path);
    const images = join(temporaryImages, randomUUID());
    try {
      const unpack = ({ progress }: Job): Promise<string> =>
        this.#withImages(images, (placeImages) =>
          staging.make({ id, path, claim }, async (stagingFolder) => {
            const computes = this.#options.computes.ids;
            const known = await memories.exported();
            const input = { archive, stagingFolder, images, projectId: id, computes, known };
            const found = await longJobs.run('unpackProject', { ...input, progress: progress.memory });
            // Throws if the job was cancelled; from here on it cannot be.
            progress.advance(0);
            await placeImages(found.images);
            for (const warning of found.warnings) this.#warn(warning);
            taken = found.memories;
            return name ?? found.name;
          }),
        );
      const text = await jobs.run({ id, lane: IMPORTS }, 'project.import', name ?? id, unpack, asker);
      await memories.keep(id, taken);
      return text;
    } finally {
      await this.#removeWork(archive);
    }
  }

  /** Removes the added images again if the project cannot be made. */
  async #withImages(
    aside: string,
    make: (placeImages: (paths: readonly string[]) => Promise<void>) => Promise<string>,
  ): Promise<string> {
    const { longJobs, imagesFolder: root } = this.#options;
    let mine: readonly string[] = [];
    try {
      return await make(async (paths) => {
        const { placed, warnings } = await longJobs.run('placeImages', { root, aside, paths });
        mine = placed;
        for (const warning of warnings) this.#warn(warning);
      });
    } catch (error) {
      if (mine.length > 0) await longJobs.run('removeImages', { root, paths: mine });
      throw error;
    } finally {
      await this.#removeWork(aside);
    }
  }

  /** Best effort: the next start removes what is left. */
  async #removeWork(work: string): Promise<void> {
    await this.#options.longJobs.run('removeWork', { paths: [work] }).catch((error: unknown) => {
      this.#warn(`The files of an import cannot be removed: ${String(error)}`);
    });
  }

  #warn(message: string): void {
    this.#options.announcements.emit('log.warning', JSON.stringify({ message }));
  }
}
