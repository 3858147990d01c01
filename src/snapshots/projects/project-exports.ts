/** Archives of projects for clients. A project stays as it is open or closed, and is held still for a moment only. */
import { randomUUID } from 'node:crypto';
import { isRefusal, refusals } from '../../base/errors/errors.js';
import type { Project } from '../../lab/projects/project.js';
import { Places } from '../../base/threads/places.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { Compression } from '../archives/zip-member.js';
import { ArchiveSource } from './archive-source.js';
import type { ExportWish } from './export-plan.js';
import type { BegunArchive, ExportTasks } from './export-tasks.js';
import { jobPlace, type JobPlace } from '../job-place.js';
import type { Jobs } from '../jobs.js';
import type { Snapshot } from '../snapshot.js';
import type { StillTasks } from '../still-tasks.js';
import { checkStopped } from '../stopped-nodes.js';

export interface ProjectExportsOptions {
  readonly jobs: Jobs;
  readonly longJobs: TaskRunner<StillTasks & ExportTasks>;
  readonly imagesFolder: string;
  /** Where all jobs have their notes. */
  readonly notes: string;
  readonly gns3Version: string;
}

/** Whom an archive is for. */
export interface ExportClient {
  readonly address: string;
  /** Ends the answer, if it is under way, so that the client can tell it from a whole one. */
  breakOff(): void;
}

/** At once: each has some pieces in memory. */
const MOST_EXPORTS = 64;
/** An export gives way to others when its client has taken nothing of what was ready for so long. */
const STALLED_MS = 2000;

/** What is to be ended with the server: an archive that is on its way, or is begun. */
class RunningExport {
  readonly #client: ExportClient;
  readonly #release: () => void;
  readonly #ended: Promise<void>;
  #resolve: () => void = () => undefined;
  #source: ArchiveSource | undefined;
  #isClosed = false;

  constructor(client: ExportClient, release: () => void) {
    this.#client = client;
    this.#release = release;
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get isStalled(): boolean {
    return this.#source !== undefined && this.#source.stalledMs >= STALLED_MS;
  }

  /** Its first piece is made. */
  goesOn(source: ArchiveSource): void {
    this.#source = source;
    if (this.#isClosed) source.close();
  }

  end(): void {
    this.#release();
    this.#resolve();
  }

  /** Somebody else has its place. */
  giveWay(): void {
    this.#client.breakOff();
    void this.close();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#source?.close();
    return this.#ended;
  }
}

export class ProjectExports {
  readonly #options: ProjectExportsOptions;
  /** Those that have given way, too, until nothing is left of them. */
  readonly #running = new Set<RunningExport>();
  readonly #places = new Places<RunningExport>({
    count: MOST_EXPORTS,
    mayGiveWay: [({ isStalled }) => isStalled],
    gaveWay: (running) => {
      running.giveWay();
    },
  });

  constructor(options: ProjectExportsOptions) {
    this.#options = options;
  }

  /** The source is to be closed in any case. */
  async begin(
    project: Project,
    wish: ExportWish,
    compression: Compression,
    client: ExportClient,
  ): Promise<ArchiveSource> {
    checkStopped(project);
    return this.#archive(project, client, (place) =>
      this.#options.jobs.run(project, 'project.export', project.name, () =>
        this.#stage(project, place, wish, compression),
      ),
    );
  }

  /** The same for one of our snapshots, as GNS3 would have made it. */
  async beginSnapshot(project: Project, snapshot: Snapshot, client: ExportClient): Promise<ArchiveSource> {
    const { jobs, longJobs, imagesFolder: images, gns3Version } = this.#options;
    const input = { projectId: project.id, gns3Version, images, snapshot };
    return this.#archive(project, client, (place) =>
      jobs.run(project, 'project.export', snapshot.name, () =>
        longJobs.run('planSnapshotArchive', { ...input, ...place }),
      ),
    );
  }

  /** Ends everything, and waits until nothing is left of it. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((running) => running.close()));
  }

  /** An archive that is made of what `begin` puts into the place, which is removed when it is over. */
  async #archive(
    project: Project,
    client: ExportClient,
    begin: (place: JobPlace) => Promise<BegunArchive>,
  ): Promise<ArchiveSource> {
    const place = jobPlace(this.#options.notes, project.place.folder, randomUUID());
    const { longJobs } = this.#options;
    const running = new RunningExport(client, project.hold());
    if (!this.#places.take(running, client.address)) {
      running.end();
      throw refusals.tooBusy();
    }
    this.#running.add(running);
    const onEnded = async (): Promise<void> => {
      this.#places.leave(running);
      await longJobs.run('removeWork', { paths: [place.notes, place.work] }).catch((error: unknown) => {
        project.warn(`What an export leaves cannot be removed: ${String(error)}`);
      });
      this.#running.delete(running);
      running.end();
    };
    let begun: BegunArchive;
    try {
      begun = await begin(place);
    } catch (error) {
      await onEnded();
      throw error;
    }
    const warn = (message: string): void => {
      project.warn(message);
    };
    const onMoved = (): void => {
      this.#places.gotOn(running);
    };
    const source = await ArchiveSource.begin(begun, { pieces: longJobs, warn, onMoved, onEnded });
    running.goesOn(source);
    return source;
  }

  async #stage(
    project: Project,
    place: JobPlace,
    wish: ExportWish,
    compression: Compression,
  ): Promise<BegunArchive> {
    const { longJobs, imagesFolder: images, gns3Version } = this.#options;
    const { root } = place;
    const records = await project.still(async (stored) => {
      await longJobs.run('holdFiles', { ...place, isForOthers: true }).catch((error: unknown) => {
        throw isRefusal(error, 'file_missing') ? refusals.projectFolderGone(root) : error;
      });
      return stored;
    });
    const input = { ...place, projectId: project.id, gns3Version, records, images, compression, wish };
    return longJobs.run('planExport', input);
  }
}
