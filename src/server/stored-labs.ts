/** The jobs of a server, and what stores labs by them: snapshots and archives of projects. */
import type { Logger } from 'pino';
import type { Intake } from '../base/intake.js';
import type { StateThread } from '../base/store/state-thread.js';
import type { Controller } from '../lab/controller.js';
import type { Quotas } from '../lab/quotas/quotas.js';
import { Jobs } from '../snapshots/jobs.js';
import { KnownMemories } from '../snapshots/known-memories.js';
import { projectArchives, type ProjectArchives } from '../snapshots/projects/project-archives.js';
import { RunningLabs } from '../snapshots/running-labs.js';
import type { SnapshotCounts } from '../snapshots/snapshot-counts.js';
import { Snapshots } from '../snapshots/snapshots.js';
import type { Config } from './config.js';
import { notesFolder, temporaryImages } from './folders.js';
import type { Threads } from './threads.js';

interface StoredLabsOptions {
  readonly config: Config;
  readonly threads: Threads;
  readonly store: StateThread;
  readonly controller: Controller;
  readonly intake: Intake;
  readonly log: Logger;
  readonly quotas: Quotas;
  readonly counts: SnapshotCounts;
}

interface StoredLabs {
  readonly jobs: Jobs;
  readonly snapshots: Snapshots;
  readonly archives: ProjectArchives;
}

export function storedLabs({
  config,
  threads,
  store,
  controller,
  intake,
  log,
  quotas,
  counts,
}: StoredLabsOptions): StoredLabs {
  const { files } = threads;
  const jobs = new Jobs(controller.announcements, { intake, log, quotas });
  const notes = notesFolder(config);
  const memories = new KnownMemories(store);
  const runningLabs = new RunningLabs({ longJobs: threads.jobs, memories });
  const snapshots = new Snapshots({
    counts,
    files,
    longJobs: threads.jobs,
    jobs,
    runningLabs,
    memories,
    notes,
    log,
  });
  const archives = projectArchives({
    controller,
    jobs,
    memories,
    longJobs: threads.jobs,
    imagesFolder: config.images,
    temporaryImages: temporaryImages(config),
    notes,
  });
  return { jobs, snapshots, archives };
}
