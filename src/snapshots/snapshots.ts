/** The snapshots of projects: all that clients do with them. Changes and long work are jobs, one at a time per project. */
import { randomUUID } from 'node:crypto';
import { relative } from 'node:path';
import type { Logger } from 'pino';
import { refusals } from '../base/errors/errors.js';
import { restoreNode } from '../lab/topology/node-restoring.js';
import { isFileName } from '../lab/projects/project-names.js';
import type { Project } from '../lab/projects/project.js';
import type { ProjectSettings } from '../lab/gns3-file/topology-schema.js';
import type { Packed } from '../base/store/store.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { CompareTasks, Comparison } from './compare-tasks.js';
import type { FileChange, FileChangeTasks } from './file-change-tasks.js';
import { jobPlace, type JobPlace } from './job-place.js';
import type { JobKind } from './job-views.js';
import type { BegunJob, Job, JobAsker, Jobs } from './jobs.js';
import type { SnapshotListTasks } from './snapshot-list-tasks.js';
import type { Damage, PreparedRestore, SnapshotTasks } from './snapshot-tasks.js';
import { newSnapshot, type ListedSnapshot, type Snapshot, type SnapshotDetails } from './snapshot.js';
import type { FreezeTasks } from './freeze-tasks.js';
import type { KnownMemories } from './known-memories.js';
import type { HoldRequest, RunningLabs } from './running-labs.js';
import type { SnapshotCounts } from './snapshot-counts.js';
import { checkStopped } from './stopped-nodes.js';

interface SnapshotsOptions {
  readonly files: TaskRunner<SnapshotListTasks>;
  readonly longJobs: TaskRunner<CompareTasks & FileChangeTasks & SnapshotTasks & FreezeTasks>;
  readonly jobs: Jobs;
  readonly runningLabs: RunningLabs;
  readonly counts: Pick<SnapshotCounts, 'changed'>;
  readonly memories: KnownMemories;
  /** The folder that has the notes of all jobs. */
  readonly notes: string;
  readonly log: Logger;
}

/** Selects the snapshots to delete: those that meet every given limit. */
interface PruneLimits {
  /** Keep this many of the newest. */
  readonly keep?: number | undefined;
  /** Delete only those older than this many seconds. */
  readonly olderThan?: number | undefined;
}

/** In bytes. Archives have the same names. */
const LONGEST_NAME = 200;

export class Snapshots {
  readonly #options: SnapshotsOptions;

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  /** Ordered by age. The project may be closed. */
  async list(project: Project): Promise<Snapshot[]> {
    return (await this.#listed(project)).map(({ snapshot }) => snapshot);
  }

  /** Refuses (404) an unknown id. */
  async find(project: Project, id: string): Promise<ListedSnapshot> {
    const found = (await this.#listed(project)).find(({ snapshot }) => snapshot.snapshot_id === id);
    if (found === undefined) throw refusals.snapshotUnknown(id);
    return found;
  }

  /** Refuses (409) a project with nodes that run, unless it asks for these to be held. */
  create(
    project: Project,
    name: string,
    description: string | undefined,
    hold: HoldRequest | undefined,
    asker?: JobAsker,
  ): Promise<Snapshot> {
    checkName(name);
    return this.#run(asker, project, 'snapshot.create', name, async (job, place) => {
      const { longJobs, memories, runningLabs } = this.#options;
      // The size of a snapshot is not known before, but a project beyond its quota gets none.
      (await project.takeRoom(0))();
      const knownTo = await this.#checkFree(project, name);
      const snapshotId = randomUUID();
      const kept =
        hold === undefined
          ? await this.#keepStopped(project, place, knownTo)
          : await runningLabs.keep(project, place, { ...hold, snapshotId, knownTo });
      const snapshot = newSnapshot({ snapshotId, projectId: project.id }, name, description, new Date());
      const progress = job.progress.memory;
      const input = { ...place, ...kept, snapshot, progress };
      const { isSealed, warnings } = await longJobs
        .run('createSnapshot', input)
        .catch(async (error: unknown) => {
          await memories.forget(project.id, snapshotId);
          throw error;
        });
      for (const warning of warnings) project.warn(warning);
      if (!isSealed) this.#seal(project, snapshot);
      return snapshot;
    });
  }

  async delete(project: Project, id: string, asker?: JobAsker): Promise<void> {
    // This check comes first.
    checkOpen(project);
    const { name } = (await this.find(project, id)).snapshot;
    await this.#run(asker, project, 'snapshot.delete', name, async () => {
      await this.#delete(project, await this.find(project, id));
    });
  }

  /** Begins to delete snapshots; the result are those that were deleted. */
  prune(project: Project, { keep = 0, olderThan = 0 }: PruneLimits): BegunJob<Snapshot[]> {
    checkOpen(project);
    return this.#begin(project, 'snapshot.delete', 'older ones', async () => {
      const listed = await this.#listed(project);
      const before = Date.now() / 1000 - olderThan;
      const going = listed
        .slice(0, Math.max(0, listed.length - keep))
        .filter(({ snapshot }) => snapshot.created_at <= before);
      for (const one of going) await this.#delete(project, one);
      return going.map(({ snapshot }) => snapshot);
    });
  }

  async details(project: Project, id: string): Promise<SnapshotDetails> {
    const listed = await this.find(project, id);
    const found = await this.#options.longJobs.run('describeSnapshot', {
      root: project.place.folder,
      listed,
    });
    // Sealing may have been interrupted, or the snapshot came with a copy: resume it when a client looks.
    if (found.state === 'sealing' && project.isOpen) this.#seal(project, listed.snapshot);
    return found;
  }

  /** Begins to read everything; the result are the damaged files. */
  async verify(project: Project, id: string): Promise<BegunJob<Damage[]>> {
    const listed = await this.find(project, id);
    return this.#begin(project, 'snapshot.verify', listed.snapshot.name, ({ progress }) =>
      this.#options.longJobs.run('verifySnapshot', {
        root: project.place.folder,
        listed,
        progress: progress.memory,
      }),
    );
  }

  /** The differences of the project from the snapshot. */
  async compare(project: Project, id: string, asker: JobAsker): Promise<Comparison> {
    const listed = await this.find(project, id);
    return this.#run(
      asker,
      project,
      'snapshot.compare',
      listed.snapshot.name,
      async ({ progress }, place) => {
        const records = await project.still(async (records) => {
          const knownTo = listed.form === 'wirefarm' ? id : undefined;
          await this.#options.longJobs.run('freezeProject', { ...place, knownTo, isForOthers: false });
          return records;
        });
        const input = { ...place, listed, records, progress: progress.memory };
        return this.#options.longJobs.run('compareSnapshot', input);
      },
    );
  }

  /** The lines in which a file of the project differs from that in the snapshot. */
  async compareFile(project: Project, id: string, path: string, asker: JobAsker): Promise<FileChange> {
    const { name } = (await this.find(project, id)).snapshot;
    return this.#run(asker, project, 'snapshot.compare', name, async ({ progress }, { root, workFolder }) => {
      const input = { root, workFolder, listed: await this.find(project, id), path };
      return this.#options.longJobs.run('compareFile', { ...input, progress: progress.memory });
    });
  }

  /** Gives the project the content of the snapshot, or changes nothing. Returns the text of the project. */
  async restore(project: Project, id: string, asker?: JobAsker): Promise<string> {
    const { name } = (await this.find(project, id)).snapshot;
    return this.#run(asker, project, 'snapshot.restore', name, async ({ progress }, { root, workFolder }) => {
      const listed = await this.find(project, id);
      const input = { root, listed, workFolder, progress: progress.memory };
      const prepared = await this.#options.longJobs.run('prepareRestore', input);
      // Throws if the job was cancelled; from here on it cannot be.
      progress.advance(0);
      const captures = [...project.topology.captures.values()].filter(({ isRunning }) => isRunning);
      const ended = captures.map(({ fileName }) => fileName);
      const content = {
        record: () => restoredRecord(project, prepared),
        changes: prepared.changes,
        swap: { work: relative(root, workFolder), paths: prepared.paths },
      };
      const text = await project.replaceContent(content, (channel) => {
        channel.emit('snapshot.restored', JSON.stringify(listed.snapshot));
      });
      if (ended.length > 0) {
        const what = ended.length === 1 ? 'The capture' : 'The captures';
        project.warn(`${what} ${ended.join(', ')} ended, because the snapshot '${name}' was restored`);
      }
      await this.#options.runningLabs.startAgain(project, listed.snapshot, prepared.ran);
      return text;
    });
  }

  /** Begins to give the node the content that it has in the snapshot; it runs as it did then. The result is its text. */
  async restoreNode(project: Project, id: string, nodeId: string): Promise<BegunJob<string>> {
    const { name } = (await this.find(project, id)).snapshot;
    checkOpen(project);
    return this.#begin(project, 'snapshot.restore', name, async ({ progress }, { root, workFolder }) => {
      const listed = await this.find(project, id);
      const input = { root, listed, workFolder, nodeId, progress: progress.memory };
      const { paths, ran, ...earlier } = await this.#options.longJobs.run('prepareNode', input);
      progress.advance(0);
      // A program that runs would go on writing into the files that are replaced.
      await project.topology.run.halt(nodeId);
      try {
        await project.changeWithFiles({ work: relative(root, workFolder), paths }, (topology, transaction) =>
          restoreNode(topology, transaction, earlier),
        );
      } catch (error) {
        // The change is stored, but the files are not in place: opening the project finishes that.
        if (project.isSwapping) await project.close();
        throw error;
      }
      await this.#options.runningLabs.startAgain(project, listed.snapshot, ran);
      const { nodes } = project.topology;
      return nodes.textOf(nodes.get(nodeId) ?? earlier.node);
    });
  }

  async #keepStopped(
    project: Project,
    place: JobPlace,
    knownTo: string | undefined,
  ): Promise<{ records: Packed; ran: undefined }> {
    checkStopped(project);
    return project.still(async (records) => {
      await this.#options.longJobs.run('freezeProject', { ...place, knownTo, isForOthers: false });
      // A node that was started meanwhile has written to its files.
      checkStopped(project);
      return { records, ran: undefined };
    });
  }

  /** Runs `work` as a job that the answer to the asker names. */
  async #run<Result>(
    asker: JobAsker | undefined,
    project: Project,
    kind: JobKind,
    subject: string,
    work: (job: Job, place: JobPlace) => Promise<Result>,
  ): Promise<Result> {
    const { id, result } = this.#begin(project, kind, subject, work);
    if (asker !== undefined) asker.jobId = id;
    return result;
  }

  /** Begins `work` as a job, with folders of its own. */
  #begin<Result>(
    project: Project,
    kind: JobKind,
    subject: string,
    work: (job: Job, place: JobPlace) => Promise<Result>,
  ): BegunJob<Result> {
    return this.#options.jobs.begin(project, kind, subject, async (job) => {
      // It may have been closed while the job waited.
      if (kind !== 'snapshot.verify') checkOpen(project);
      const place = jobPlace(this.#options.notes, project.place.folder, job.id);
      try {
        return await work(job, place);
      } finally {
        this.#options.counts.changed(project.id);
        // An unfinished swap of folders still needs the work folder.
        const paths = project.isSwapping ? [place.notes] : [place.notes, place.workFolder];
        await this.#removeWork(project, paths);
      }
    });
  }

  /** Best effort: leftovers are removed when the project is opened. */
  async #removeWork(project: Project, paths: readonly string[]): Promise<void> {
    await this.#options.longJobs.run('removeWork', { paths }).catch((error: unknown) => {
      this.#options.log.warn({ err: error, project: project.id }, 'the files of a job cannot be removed');
    });
  }

  #listed(project: Project): Promise<ListedSnapshot[]> {
    return this.#options.files.run('listSnapshots', { root: project.place.folder, projectId: project.id });
  }

  /** Refuses a taken name. Returns the id of the newest snapshot in the content store. */
  async #checkFree(project: Project, name: string): Promise<string | undefined> {
    const listed = await this.#listed(project);
    const { filename } = newSnapshot({ snapshotId: '', projectId: '' }, name, '', new Date());
    if (listed.some(({ snapshot }) => snapshot.name === name)) throw refusals.snapshotExists(name);
    if (listed.some(({ snapshot }) => snapshot.filename === filename))
      throw refusals.snapshotFileExists(name);
    return listed.findLast(({ form }) => form === 'wirefarm')?.snapshot.snapshot_id;
  }

  async #delete(project: Project, listed: ListedSnapshot): Promise<void> {
    const { longJobs, memories } = this.#options;
    await longJobs.run('deleteSnapshot', { root: project.place.folder, listed });
    await memories.forget(project.id, listed.snapshot.snapshot_id);
  }

  /** Starts sealing in the background. */
  #seal(project: Project, { snapshot_id: id, name }: Snapshot): void {
    const { jobs } = this.#options;
    if (jobs.of(project.id).some(({ kind, subject }) => kind === 'snapshot.seal' && subject === name)) return;
    this.#begin(project, 'snapshot.seal', name, ({ progress }) =>
      this.#options.longJobs.run('sealSnapshot', {
        root: project.place.folder,
        id,
        progress: progress.memory,
      }),
    ).result.catch((error: unknown) => {
      this.#options.log.warn({ err: error, project: project.id, snapshot: id }, 'a snapshot is not sealed');
    });
  }
}

/** Its name, and when it opens and closes, are not taken from the snapshot. */
function restoredRecord({ record }: Project, { settings, computes }: PreparedRestore): Project['record'] {
  const { name, auto_start, auto_open, auto_close }: ProjectSettings = record.settings;
  return { ...record, settings: { ...settings, name, auto_start, auto_open, auto_close }, computes };
}

function checkOpen({ isOpen }: Project): void {
  if (!isOpen) throw refusals.projectClosed();
}

function checkName(name: string): void {
  if (!isFileName(name) || Buffer.byteLength(name) > LONGEST_NAME) {
    throw refusals.snapshotNameRefused(LONGEST_NAME);
  }
}
