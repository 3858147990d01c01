/**
 * Exports projects, open or closed, as archives for clients. Changes of the project wait only while its files are frozen.
 * An archive is made while it is sent.
 */
import { randomUUID } from 'node:crypto';
import { isRefusal, refusals } from '../../base/errors/errors.js';
import type { Project } from '../../lab/projects/project.js';
import { Places } from '../../base/threads/places.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { Compression } from '../archives/zip-member.js';
import type { ExportRequest } from './export-plan.js';
import { ArchiveMaking } from './archive-making.js';
import type { ArchiveLayout } from '../archives/zip-layout.js';
import type { BegunArchive, ExportTasks } from './export-tasks.js';
import { PieceRooms } from './piece-rooms.js';
import { PackedArchive } from './packed-archive.js';
import { StoredArchive } from './stored-archive.js';
import { jobPlace, type JobPlace } from '../job-place.js';
import type { KnownMemories } from '../known-memories.js';
import type { JobAsker, Jobs } from '../jobs.js';
import type { Snapshot } from '../snapshot.js';
import type { FreezeTasks } from '../freeze-tasks.js';
import { checkStopped } from '../stopped-nodes.js';

interface ProjectExportsOptions {
  readonly jobs: Jobs;
  readonly memories: KnownMemories;
  readonly longJobs: TaskRunner<FreezeTasks & ExportTasks>;
  readonly imagesFolder: string;
  /** The folder that has the notes of all jobs. */
  readonly notes: string;
  readonly gns3Version: string;
}

/** The client that gets an archive. */
interface ExportClient extends JobAsker {
  readonly address: string;
  /** Breaks off the response, so that the client can tell it from a complete one. */
  breakOff(): void;
}

/** The most exports at once: each has some pieces in memory. */
const MOST_EXPORTS = 64;
/** An export gives way to others when its client has left a ready piece alone for this long. */
const STALLED_MS = 2000;

/** An archive whose members are known, and nothing else is made yet. Call one of its methods, once. */
export class PlannedArchive {
  /** Undefined for an archive that is packed. */
  readonly layout: ArchiveLayout | undefined;
  readonly #making: ArchiveMaking;

  constructor(making: ArchiveMaking, layout: ArchiveLayout | undefined) {
    this.#making = making;
    this.layout = layout;
  }

  packed(): Promise<PackedArchive> {
    return this.#begun(PackedArchive.begin(this.#making));
  }

  /** From this position on. */
  stored(start: number): Promise<StoredArchive> {
    return this.#begun(StoredArchive.begin(this.#making, start));
  }

  close(): void {
    void this.#making.close();
  }

  async #begun<Archive>(beginning: Promise<Archive>): Promise<Archive> {
    try {
      return await beginning;
    } catch (error) {
      await this.#making.close();
      throw error;
    }
  }
}

/** An archive that is being prepared or sent. */
class RunningExport {
  readonly #client: ExportClient;
  readonly #release: () => void;
  readonly #ended: Promise<void>;
  #resolve: () => void = () => undefined;
  #making: ArchiveMaking | undefined;
  #isClosed = false;

  constructor(client: ExportClient, release: () => void) {
    this.#client = client;
    this.#release = release;
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get isStalled(): boolean {
    return this.#making !== undefined && this.#making.stalledMs >= STALLED_MS;
  }

  /** Call it when the archive is planned. */
  goesOn(making: ArchiveMaking): void {
    this.#making = making;
    if (this.#isClosed) void making.close();
  }

  end(): void {
    this.#release();
    this.#resolve();
  }

  /** Ends it, because another export takes its place. */
  giveWay(): void {
    this.#client.breakOff();
    void this.close();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    void this.#making?.close();
    return this.#ended;
  }
}

export class ProjectExports {
  readonly #options: ProjectExportsOptions;
  readonly #rooms = new PieceRooms();
  /** Includes those that have given way, until they have ended. */
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

  /** The caller must send the archive, or close it. */
  async begin(
    project: Project,
    request: ExportRequest,
    compression: Compression,
    client: ExportClient,
  ): Promise<PlannedArchive> {
    checkStopped(project);
    return this.#archive(project, client, (place) =>
      this.#options.jobs.run(
        project,
        'project.export',
        project.name,
        () => this.#stage(project, place, request, compression),
        client,
      ),
    );
  }

  /** The same for a snapshot in the content store, in the format of GNS3. */
  async beginSnapshot(project: Project, snapshot: Snapshot, client: ExportClient): Promise<PlannedArchive> {
    const { jobs, longJobs, imagesFolder: images, gns3Version } = this.#options;
    const input = { projectId: project.id, gns3Version, images, snapshot };
    return this.#archive(project, client, (place) =>
      jobs.run(
        project,
        'project.export',
        snapshot.name,
        () => longJobs.run('planSnapshotArchive', { ...input, ...place }),
        client,
      ),
    );
  }

  /** Ends all exports, and waits for that. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((running) => running.close()));
  }

  /** Sends the archive that `begin` plans in the folders of `place`, which are removed at the end. */
  async #archive(
    project: Project,
    client: ExportClient,
    begin: (place: JobPlace) => Promise<BegunArchive>,
  ): Promise<PlannedArchive> {
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
      await longJobs.run('removeWork', { paths: [place.notes, place.workFolder] }).catch((error: unknown) => {
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
    const { cursor: first, layout, warnings } = begun;
    warnings.forEach(warn);
    const making = new ArchiveMaking({ pieces: longJobs, rooms: this.#rooms, first, warn, onMoved, onEnded });
    running.goesOn(making);
    return new PlannedArchive(making, layout);
  }

  async #stage(
    project: Project,
    place: JobPlace,
    request: ExportRequest,
    compression: Compression,
  ): Promise<BegunArchive> {
    const { longJobs, imagesFolder: images, gns3Version, memories } = this.#options;
    const { root } = place;
    const records = await project.still(async (stored) => {
      await longJobs.run('freezeProject', { ...place, isForOthers: true }).catch((error: unknown) => {
        throw isRefusal(error, 'file_missing') ? refusals.projectFolderGone(root) : error;
      });
      return stored;
    });
    const known = request.includesMemory ? await memories.of(project.id) : [];
    await memories.keepExported(known);
    const input = { ...place, projectId: project.id, gns3Version, records, images, compression, request };
    return longJobs.run('planExport', { ...input, memories: known });
  }
}
