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
import type { BegunArchive, ExportTasks, PieceTasks } from './export-tasks.js';
import { jobPlace, type JobPlace } from '../job-place.js';
import type { KnownMemories } from '../known-memories.js';
import type { Jobs } from '../jobs.js';
import type { Snapshot } from '../snapshot.js';
import type { FreezeTasks } from '../freeze-tasks.js';
import { checkStopped } from '../stopped-nodes.js';
import type { ZipCursor, ZipPiece } from '../archives/zip-pieces.js';

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
interface ExportClient {
  readonly address: string;
  /** Breaks off the response, so that the client can tell it from a complete one. */
  breakOff(): void;
}

/** The most exports at once: each has some pieces in memory. */
const MOST_EXPORTS = 64;
/** An export gives way to others when its client has left a ready piece alone for this long. */
const STALLED_MS = 2000;

/** An archive that is being prepared or sent. */
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

  /** Call it when the first piece is made. */
  goesOn(source: ArchiveSource): void {
    this.#source = source;
    if (this.#isClosed) source.close();
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
    this.#source?.close();
    return this.#ended;
  }
}

export class ProjectExports {
  readonly #options: ProjectExportsOptions;
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

  /** The caller must close the source in any case. */
  async begin(
    project: Project,
    request: ExportRequest,
    compression: Compression,
    client: ExportClient,
  ): Promise<ArchiveSource> {
    checkStopped(project);
    return this.#archive(project, client, (place) =>
      this.#options.jobs.run(project, 'project.export', project.name, () =>
        this.#stage(project, place, request, compression),
      ),
    );
  }

  /** The same for a snapshot in the content store, in the format of GNS3. */
  async beginSnapshot(project: Project, snapshot: Snapshot, client: ExportClient): Promise<ArchiveSource> {
    const { jobs, longJobs, imagesFolder: images, gns3Version } = this.#options;
    const input = { projectId: project.id, gns3Version, images, snapshot };
    return this.#archive(project, client, (place) =>
      jobs.run(project, 'project.export', snapshot.name, () =>
        longJobs.run('planSnapshotArchive', { ...input, ...place }),
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
    const source = await ArchiveSource.begin(begun, { pieces: longJobs, warn, onMoved, onEnded });
    running.goesOn(source);
    return source;
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

interface ArchiveSourceOptions {
  readonly pieces: TaskRunner<PieceTasks>;
  readonly warn: (message: string) => void;
  /** Called when the client asks for more: it has what was sent before. */
  readonly onMoved: () => void;
  /** Called once, when no further piece is made. */
  readonly onEnded: () => Promise<void>;
}

/** The source of a response stream. Makes one piece ahead, so that neither the client nor a thread waits for the other. */
class ArchiveSource {
  readonly #options: ArchiveSourceOptions;
  #cursor: ZipCursor | undefined;
  /** The piece that is made ahead; undefined at the end. */
  #ahead: Promise<ZipPiece> | undefined;
  #isMaking = false;
  /** When the client last asked for a piece, or could have. */
  #movedAt = 0;
  #isClosed = false;

  private constructor(begun: BegunArchive, options: ArchiveSourceOptions) {
    this.#options = options;
    for (const warning of begun.warnings) options.warn(warning);
    this.#goOn(begun.cursor);
  }

  /** Waits for the first piece, so that early errors can still be a proper response. */
  static async begin(begun: BegunArchive, options: ArchiveSourceOptions): Promise<ArchiveSource> {
    const source = new ArchiveSource(begun, options);
    try {
      await source.#ahead;
      return source;
    } catch (error) {
      source.#isClosed = true;
      await source.#end();
      throw error;
    }
  }

  /** For how long the client has left the ready piece alone. */
  get stalledMs(): number {
    return this.#isMaking ? 0 : performance.now() - this.#movedAt;
  }

  /** Throws if it was closed: the client must not take an incomplete archive for a complete one. */
  next(): 'over' | Promise<Uint8Array> {
    if (this.#isClosed) throw new Error('the archive was closed before its end');
    this.#movedAt = performance.now();
    this.#options.onMoved();
    return this.#ahead === undefined ? 'over' : this.#take(this.#ahead);
  }

  onReady(): void {
    // `next` never asks its caller to wait: it returns a promise.
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    void this.#end();
  }

  async #take(ahead: Promise<ZipPiece>): Promise<Uint8Array> {
    const { bytes, cursor, warnings } = await ahead;
    for (const warning of warnings) this.#options.warn(warning);
    this.#ahead = undefined;
    if (cursor === undefined) this.#cursor = undefined;
    else if (!this.#isClosed) this.#goOn(cursor);
    return bytes;
  }

  #goOn(cursor: ZipCursor): void {
    this.#cursor = cursor;
    this.#isMaking = true;
    this.#ahead = this.#options.pieces.run('exportPiece', { cursor }).finally(() => {
      this.#isMaking = false;
      this.#movedAt = performance.now();
    });
    // #take throws it; this only silences the unhandled rejection.
    this.#ahead.catch(() => undefined);
  }

  async #end(): Promise<void> {
    const { pieces, onEnded } = this.#options;
    await this.#ahead?.catch(() => undefined);
    if (this.#cursor !== undefined) {
      await pieces.run('dropCursor', { cursor: this.#cursor }).catch(() => undefined);
    }
    await onEnded();
  }
}
