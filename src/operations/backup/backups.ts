/**
 * The backups of a server that runs: each has all projects, each project as of one moment, and the records, images, symbols
 * and base configurations. One is made, read or removed at a time.
 */
import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { isRefusal, messageOf, Refusal, refusals } from '../../base/errors/errors.js';
import { PRODUCT } from '../../base/product.js';
import type { StateThread } from '../../base/store/state-thread.js';
import type { Packed } from '../../base/store/store.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { HeldFiles } from '../../lab/lab-run.js';
import type { Project } from '../../lab/projects/project.js';
import type { Projects } from '../../lab/projects/projects.js';
import { PROJECT_RECORDS } from '../../lab/projects/records.js';
import type { JobProgress } from '../../snapshots/content/job-progress.js';
import type { Job, Jobs } from '../../snapshots/jobs.js';
import { CAPTURES } from '../../lab/projects/folder-layout.js';
import { RECORDS_FILE, type BackedProject, type BackupExtra, type LeftOutProject } from './backup-form.js';
import { Verification } from '../verification.js';
import type { BackupSource } from './backup-objects.js';
import type { PartPlace } from './backup-parts.js';
import type { BackupSummary, BackupTasks, FoundDamage } from './backup-tasks.js';

interface BackupsOptions {
  readonly folder: string;
  readonly store: Pick<StateThread, 'copyTo'>;
  readonly longJobs: TaskRunner<BackupTasks>;
  readonly jobs: Jobs;
  readonly projects: Pick<Projects, 'all' | 'folder'>;
  /** The projects of the farm, if there is one. */
  readonly elsewhere: () => ReadonlyMap<string, { readonly name: string }>;
  readonly sources: readonly BackupSource[];
  /** The folders of what comes on request. Captures lie with their projects. */
  readonly extras: Readonly<Record<Exclude<BackupExtra, 'captures'>, BackupSource>>;
  /** So many backups are kept; 0 keeps all. */
  readonly keep: () => number;
  readonly log: Logger;
}

interface ListedBackups {
  readonly backups: readonly BackupSummary[];
  /** Backups whose manifests cannot be read. */
  readonly damaged: readonly string[];
  /** Backups that are being made. */
  readonly making: readonly { readonly backup_id: string; readonly done: number; readonly total: number }[];
  readonly verifications: readonly ({ readonly backup_id: string } & NonNullable<
    Verification<FoundDamage>['view']
  >)[];
  /** Why the last one was not made; null when it was. */
  readonly failure: string | null;
  /** So many are kept; 0 keeps all. */
  readonly keep: number;
}

interface KeptProject {
  readonly records: Packed;
  readonly unheld: string[];
}

const MOST_VERIFICATIONS = 100;
const NOT_HERE = 'this server of the farm does not have it now: back it up at the one that does';
const OWNER = { id: 'backups' };
const NOTHING_HELD: HeldFiles = { folders: [], running: [], release: () => Promise.resolve() };

export class Backups {
  readonly #options: BackupsOptions;
  /** The jobs of the backups that are being made; undefined for one that waits. */
  readonly #making = new Map<string, Job | undefined>();
  /** The backup that has not begun. */
  #waiting:
    | { readonly backupId: string; readonly jobId: string; readonly extras: Set<BackupExtra> }
    | undefined;
  /** The last verification of each backup, the newest last. */
  readonly #verifications = new Map<string, Verification<FoundDamage>>();
  /** How often each backup is being downloaded. */
  readonly #downloads = new Map<string, number>();
  #failure: string | null = null;

  constructor(options: BackupsOptions) {
    this.#options = options;
  }

  async list(): Promise<ListedBackups> {
    const { folder, keep, longJobs } = this.#options;
    // Before the list, so that a backup is in one of both.
    const making = [...this.#making].map(([backup_id, job]) => {
      return { backup_id, done: job?.progress.done ?? 0, total: job?.progress.total ?? 0 };
    });
    const listed = await longJobs.run('listBackups', { folder });
    const verifications = [...this.#verifications].flatMap(([backup_id, { view }]) =>
      view === undefined ? [] : [{ backup_id, ...view }],
    );
    return { ...listed, making, verifications, failure: this.#failure, keep: keep() };
  }

  /**
   * Begins to make a backup; one that waits already takes in what is asked for besides. Refuses (503) while the server is
   * drained.
   */
  create(extras: readonly BackupExtra[]): { readonly backupId: string; readonly jobId: string } {
    const { jobs, log } = this.#options;
    if (this.#waiting !== undefined) {
      for (const extra of extras) this.#waiting.extras.add(extra);
      return this.#waiting;
    }
    const backupId = randomUUID();
    const wanted = new Set(extras);
    const { id, result } = jobs.begin(OWNER, 'backup.create', backupId, async (job) => {
      this.#making.set(backupId, job);
      this.#waiting = undefined;
      await this.#make(backupId, job, [...wanted]);
    });
    this.#making.set(backupId, undefined);
    this.#waiting = { backupId, jobId: id, extras: wanted };
    result
      .then(
        () => {
          this.#failure = null;
        },
        (error: unknown) => {
          this.#failure = messageOf(error);
          log.error({ err: error, backup: backupId }, 'a backup could not be made');
        },
      )
      .finally(() => {
        this.#making.delete(backupId);
        // It may have been cancelled before it began.
        if (this.#waiting?.backupId === backupId) this.#waiting = undefined;
      });
    return { backupId, jobId: id };
  }

  /** Begins to read all of it, and returns the id of the job; the list tells what was found. Refuses (404) an unknown one. */
  async verify(backupId: string): Promise<string> {
    await this.#check(backupId);
    const { folder, jobs, longJobs } = this.#options;
    const verification =
      this.#verifications.get(backupId) ??
      new Verification<FoundDamage>({
        ...{ jobs, owner: OWNER, kind: 'backup.verify', subject: backupId },
        check: ({ progress: { memory } }) =>
          longJobs.run('verifyBackup', { folder, id: backupId, progress: memory }),
      });
    const jobId = verification.begin();
    this.#verifications.delete(backupId);
    this.#verifications.set(backupId, verification);
    const [oldest] = [...this.#verifications].filter(([, { isUnderWay }]) => !isUnderWay);
    if (this.#verifications.size > MOST_VERIFICATIONS && oldest !== undefined)
      this.#verifications.delete(oldest[0]);
    return jobId;
  }

  /** Begins to delete one, and returns the id of the job. Refuses (404) an unknown one, and (409) one that is being downloaded. */
  async delete(backupId: string): Promise<string> {
    const { jobs, log } = this.#options;
    const check = async (): Promise<void> => {
      await this.#check(backupId);
      if (this.#downloads.has(backupId)) throw refusals.backupBusy();
    };
    await check();
    const { id, result } = jobs.begin(OWNER, 'backup.delete', backupId, async () => {
      await check();
      await this.#remove([backupId]);
    });
    result.catch((error: unknown) => {
      log.warn({ err: error, backup: backupId }, 'a backup is not deleted');
    });
    return id;
  }

  /**
   * The files of a backup, with their names in an archive. None of them is removed before the function that is returned is
   * called.
   */
  async members(backupId: string): Promise<{
    readonly members: readonly {
      readonly root: string;
      readonly path: string;
      readonly memberPath: string;
    }[];
    readonly release: () => void;
  }> {
    const { folder, longJobs } = this.#options;
    const count = (more: 1 | -1): void => {
      const now = (this.#downloads.get(backupId) ?? 0) + more;
      if (now === 0) this.#downloads.delete(backupId);
      else this.#downloads.set(backupId, now);
    };
    count(1);
    const release = (): void => {
      count(-1);
    };
    try {
      const members = await longJobs.run('listMembers', { folder, id: backupId });
      return { members: members.map((member) => ({ ...member, root: folder })), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #make(backupId: string, { progress }: Job, extras: readonly BackupExtra[]): Promise<void> {
    const { folder, longJobs, store, sources, projects, elsewhere } = this.#options;
    const created_at = new Date().toISOString();
    const earlierId = await longJobs.run('beginBackup', { folder });
    const listed = [...projects.all.values()];
    const others = [...elsewhere()].filter(([id]) => !projects.all.has(id));
    // Records of projects come with their files; all others are of this moment.
    await store.copyTo(join(folder, RECORDS_FILE), PROJECT_RECORDS);
    const made: BackedProject[] = [];
    const leftOut: LeftOutProject[] = [];
    const sums = { size: 0, added: 0 };
    const writtenImages: string[] = [];
    try {
      for (const project of listed) {
        progress.advance(0);
        const place = { folder, backupId, projectId: project.id, root: project.place.folder };
        const kept = await this.#keep(project, place, earlierId);
        if (kept === undefined) continue;
        if ('reason' in kept) {
          leftOut.push({ project_id: project.id, name: project.name, reason: kept.reason });
          continue;
        }
        const stored = await this.#store(project, place, kept.records, progress);
        if (stored === undefined) continue;
        if ('reason' in stored) {
          leftOut.push({ project_id: project.id, name: project.name, reason: stored.reason });
          continue;
        }
        const { size, added, hasSnapshots, images } = stored;
        sums.size += size;
        sums.added += added;
        writtenImages.push(...images);
        made.push({
          project_id: project.id,
          name: project.name,
          folder: this.#folderOf(project),
          has_snapshots: hasSnapshots,
          crash_consistent: kept.unheld,
        });
      }
      const [first] = leftOut;
      // A fault that keeps all projects out is none of theirs.
      if (first !== undefined && made.length === 0)
        throw refusals.projectNotBackedUp(first.name, first.reason);
      for (const [project_id, { name }] of others) leftOut.push({ project_id, name, reason: NOT_HERE });
      await longJobs.run('finishBackup', {
        ...{
          folder,
          earlierId,
          sources: [...sources, ...this.#extras(extras, made)],
          writtenImages,
          projects: made,
          leftOut,
          ...sums,
        },
        head: { backup_id: backupId, created_at, version: PRODUCT.version },
        progress: progress.memory,
      });
    } catch (error) {
      // Whatever it has stored goes.
      await longJobs.run('deleteBackups', { folder, ids: [] }).catch(() => undefined);
      throw error;
    }
    await this.#prune();
  }

  /** Keeps a project as it is now; undefined for one that has been deleted meanwhile, and a reason for one that cannot be read. */
  #keep(
    project: Project,
    place: PartPlace,
    earlierId: string | undefined,
  ): Promise<KeptProject | { readonly reason: string } | undefined> {
    const { jobs, longJobs } = this.#options;
    // A job of the project changes its snapshots.
    return jobs.between(project.id, async () => {
      try {
        if (this.#isGone(project)) return undefined;
        return await project.still(async (records) => {
          const held = project.isOpen ? await project.topology.run.holdFiles() : NOTHING_HELD;
          try {
            const { folders: written, running } = held;
            const unheld = running.filter(({ isHeld }) => !isHeld);
            const changing = unheld.map(({ folder }) => folder);
            await longJobs.run('freezePart', { ...place, earlierId, written, changing });
            return { records, unheld: unheld.map(({ name }) => name) };
          } finally {
            await held.release();
          }
        });
      } catch (error) {
        return await this.#leaveOut(project, place, error);
      }
    });
  }

  /** Stores what was kept of a project; the outcomes are those of keeping it. */
  async #store(
    project: Project,
    place: PartPlace,
    records: Packed,
    progress: JobProgress,
  ): Promise<ReturnType<BackupTasks['storePart']> | { readonly reason: string } | undefined> {
    const input = { ...place, records, progress: progress.memory };
    try {
      return await this.#options.longJobs.run('storePart', input);
    } catch (error) {
      if (isRefusal(error, 'job_cancelled')) throw error;
      return await this.#leaveOut(project, place, error);
    }
  }

  async #leaveOut(
    project: Project,
    place: PartPlace,
    error: unknown,
  ): Promise<{ readonly reason: string } | undefined> {
    const { longJobs, log } = this.#options;
    await longJobs.run('forgetPart', place);
    if (this.#isGone(project)) return undefined;
    // A disk that is full is none of the project's.
    if (error instanceof Refusal && error.status >= 500)
      throw refusals.projectNotBackedUp(project.name, messageOf(error));
    log.error({ err: error, project: project.id }, 'a project is left out of the backup');
    return { reason: messageOf(error) };
  }

  #isGone(project: Project): boolean {
    return this.#options.projects.all.get(project.id) !== project;
  }

  /** The folders of what was asked for, captures for the projects that are in the backup. */
  #extras(wanted: readonly BackupExtra[], made: readonly BackedProject[]): BackupSource[] {
    const { extras, projects } = this.#options;
    return wanted.flatMap((extra): BackupSource[] => {
      if (extra !== 'captures') return [extras[extra]];
      return made.flatMap(({ project_id: id, folder }) => {
        const root = projects.all.get(id)?.place.folder;
        const name = `projects/${folder}/${CAPTURES}`;
        return root === undefined ? [] : [{ name, path: join(root, CAPTURES), isReplaced: false }];
      });
    });
  }

  /** Projects that lie elsewhere get the usual name in the projects folder. */
  #folderOf({ id, place: { folder } }: Project): string {
    return dirname(folder) === this.#options.projects.folder ? basename(folder) : id;
  }

  /** Refuses (404) an unknown one at once, whatever waits. */
  async #check(backupId: string): Promise<void> {
    const { folder, longJobs } = this.#options;
    if (!(await longJobs.run('hasBackup', { folder, id: backupId }))) throw refusals.backupUnknown(backupId);
  }

  async #remove(ids: readonly string[]): Promise<void> {
    const { folder, longJobs } = this.#options;
    await longJobs.run('deleteBackups', { folder, ids });
    for (const id of ids) this.#verifications.delete(id);
  }

  async #prune(): Promise<void> {
    const { folder, longJobs, keep, log } = this.#options;
    const most = keep();
    const { backups } = await longJobs.run('listBackups', { folder });
    const older = most === 0 ? [] : backups.slice(0, -most).map(({ backup_id: id }) => id);
    const ids = older.filter((id) => !this.#downloads.has(id));
    if (ids.length === 0) return;
    await this.#remove(ids);
    log.info({ backups: ids }, 'older backups were deleted');
  }
}
