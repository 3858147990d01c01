/** The jobs of a server, and what stores labs by them: snapshots, archives and deals of projects, and backups. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Intake } from '../base/intake.js';
import type { Accounts } from '../lab/access/accounts.js';
import type { Controller } from '../lab/controller.js';
import type { ProjectUses } from '../lab/projects/project-uses.js';
import type { Quotas } from '../lab/quotas/quotas.js';
import { Backups } from '../operations/backup/backups.js';
import { Deals } from '../operations/deals.js';
import { EndTimes } from '../operations/end-times/end-times.js';
import { EndWatch } from '../operations/end-times/end-watch.js';
import { Jobs } from '../snapshots/jobs.js';
import { KnownMemories } from '../snapshots/known-memories.js';
import { projectArchives, type ProjectArchives } from '../snapshots/projects/project-archives.js';
import { RunningLabs } from '../snapshots/running-labs.js';
import type { SnapshotCounts } from '../snapshots/snapshot-counts.js';
import { Snapshots } from '../snapshots/snapshots.js';
import type { Config } from './config.js';
import type { ServerHistory } from './server-history.js';
import { AUDIT, BACKUPS, CONFIGS, HISTORY, notesFolder, SYMBOLS, temporaryImages } from './folders.js';
import type { ServerStore } from './server-store.js';
import type { Threads } from './threads.js';

interface StoredLabsOptions {
  /** The settings that count now. */
  readonly live: { readonly config: Config };
  readonly threads: Threads;
  readonly store: ServerStore;
  readonly controller: Controller;
  readonly accounts: Accounts;
  readonly intake: Intake;
  readonly log: Logger;
  readonly quotas: Quotas;
  readonly counts: SnapshotCounts;
  readonly happened: Pick<ServerHistory, 'now' | 'remember' | 'uses'>;
}

interface StoredLabs {
  readonly jobs: Jobs;
  readonly snapshots: Snapshots;
  readonly archives: ProjectArchives;
  readonly backups: Backups;
  readonly deals: Deals;
  readonly ends: {
    readonly times: EndTimes;
    readonly watch: EndWatch;
    readonly uses: ProjectUses;
    forget(projectId: string): void;
  };
}

export function storedLabs({
  live,
  threads,
  store,
  controller,
  accounts,
  intake,
  log,
  quotas,
  counts,
  happened: { now, remember, uses },
}: StoredLabsOptions): StoredLabs {
  const { config } = live;
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
    quotas,
    memories,
    longJobs: threads.jobs,
    imagesFolder: config.images,
    temporaryImages: temporaryImages(config),
    notes,
  });
  const isReplaced = false;
  const backups = new Backups({
    folder: join(config.data, BACKUPS),
    ...{ store, jobs, log },
    longJobs: threads.jobs,
    projects: controller.projects,
    elsewhere: () => store.member?.elsewhere.listed ?? new Map<string, { readonly name: string }>(),
    sources: [
      { name: 'images', path: config.images, isReplaced: true },
      { name: SYMBOLS, path: join(config.data, SYMBOLS), isReplaced },
      { name: CONFIGS, path: join(config.data, CONFIGS), isReplaced },
    ],
    extras: {
      history: { name: HISTORY, path: join(config.data, HISTORY), isReplaced },
      audit: { name: AUDIT, path: join(config.data, AUDIT), isReplaced },
    },
    keep: () => live.config.keepsBackups,
  });
  const { groups, grants } = accounts;
  const deals = new Deals({
    ...{ store, projects: controller.projects, groups, grants },
    ...{ jobs, snapshots, copies: archives.copies },
  });
  const { projects } = controller;
  const times = new EndTimes({
    ...{ store, now },
    rules: () => live.config.endRules,
    rolesOf: (id) => grants.ownersOf(id).flatMap((userId) => accounts.users.get(userId)?.role ?? []),
  });
  const watch = new EndWatch({
    ...{ uses, projects, snapshots, jobs, intake, remember, log, now },
    ends: times,
    clock: () => performance.now(),
  });
  const forget = (projectId: string): void => {
    times.forget(projectId);
    uses.forget(projectId);
  };
  return { jobs, snapshots, archives, deals, backups, ends: { times, watch, uses, forget } };
}
