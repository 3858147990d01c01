/** The threads beside the HTTP thread: what each pool does, how many there are, and why they are apart. */
import type { DigestTasks } from '../base/disk/folder-digests.js';
import { availableParallelism } from 'node:os';
import type { FileTasks } from '../base/disk/file-tasks.js';
import type { LogTasks } from '../base/disk/log-tasks.js';
import type { CountedPool } from '../base/threads/pool-metrics.js';
import { TaskPool, type TaskPoolOptions } from '../base/threads/task-pool.js';
import type { CaptureFileTasks } from '../captures/files/capture-file-tasks.js';
import type { FileChores } from '../captures/writing/file-chores.js';
import type { BpfTasks } from '../engine/bpf/bpf-tasks.js';
import { FilePool, FileReads } from '../files/downloads/file-reads.js';
import type { ImageTasks } from '../files/images/image-tasks.js';
import type { NodeArchiveTasks } from '../files/node-files/node-archive-tasks.js';
import type { NodeFileTasks } from '../files/node-files/node-file-tasks.js';
import type { CertificateTasks } from '../operations/certificate-tasks.js';
import type { DiskTasks } from '../files/transfer/disk-tasks.js';
import { Slabs } from '../files/transfer/slabs.js';
import type { PartLoading, PartTasks } from '../files/uploads/part-tasks.js';
import type { ProjectFileTasks } from '../lab/projects/project-state.js';
import type { PasswordTasks } from '../lab/access/password-tasks.js';
import type { AuditTasks } from '../lab/audit/audit-tasks.js';
import type { ApplianceTasks } from '../lab/appliances/appliance-tasks.js';
import type { LabTextTasks } from '../lab/lab-file/lab-text-tasks.js';
import type { SymbolTasks } from '../lab/symbols/symbol-tasks.js';
import type { HostTasks } from '../run/host-tasks.js';
import type { AuditCheckTasks } from '../operations/audit-verification.js';
import type { BackupTasks } from '../operations/backup/backup-tasks.js';
import type { HistoryTasks } from '../operations/history/history-tasks.js';
import type { SettingsTasks } from '../operations/settings-tasks.js';
import type { MeasureTasks } from '../operations/measure-tasks.js';
import type { ConfinementTasks } from '../run/nodes/confinement-tasks.js';
import type { DockerTasks } from '../run/nodes/docker/docker-tasks.js';
import type { DynamipsTasks } from '../run/nodes/dynamips/dynamips-tasks.js';
import type { IouTasks } from '../run/nodes/iou/iou-tasks.js';
import type { NamespaceTasks } from '../run/nodes/namespace-tasks.js';
import type { QemuHostTasks } from '../run/nodes/qemu/qemu-host-tasks.js';
import type { ConfigDiskTasks } from '../run/nodes/qemu/config-disk/config-disk-tasks.js';
import type { MemoryTasks } from '../run/nodes/qemu/memory-tasks.js';
import type { QemuTasks } from '../run/nodes/qemu/qemu-tasks.js';
import type { VpcsTasks } from '../run/nodes/vpcs/vpcs-tasks.js';
import type { CompareTasks } from '../snapshots/compare-tasks.js';
import type { FileChangeTasks } from '../snapshots/file-change-tasks.js';
import type { ArchiveTasks } from '../snapshots/projects/project-archives.js';
import type { SnapshotListTasks } from '../snapshots/snapshot-list-tasks.js';
import type { SnapshotTasks } from '../snapshots/snapshot-tasks.js';
import type { Config } from './config.js';

const workerAt = (name: string): URL => new URL(`../../workers/${name}-worker.js`, import.meta.url);

/** Threads that run without end, in loops of their own: their owners start as many as they need. */
export const LOOPS = {
  engine: workerAt('engine'),
  capture: workerAt('capture'),
  transfer: workerAt('transfer'),
};

const SIZES = {
  /** Short work on the disk, for requests. */
  files: { threads: 2, queueLimit: 10_000, readyThreads: 1 },
  /** These land uploads and sync them: threads that wait for the disk side by side. */
  disk: { threads: 4, queueLimit: 10_000, readyThreads: 0 },
  /** Apart, so that no reader waits behind a sync of gigabytes. More of them would read no faster, and delay syncs. */
  readers: { threads: 3, queueLimit: 10_000, readyThreads: 0 },
  /** Apart, so that no upload waits behind the tens of thousands of files of an archive. */
  archives: { threads: 2, queueLimit: 10_000, readyThreads: 0 },
  /** Syncs and closes the files of captures, of which none may be refused. */
  chores: { threads: 1, queueLimit: Infinity, readyThreads: 0 },
  /** Adds lines to log files, apart, because their disk may hang. */
  logs: { threads: 1, queueLimit: 10, readyThreads: 0 },
  /** Hands expressions of packet filters to libpcap, which may take its time. */
  expressions: { threads: 1, queueLimit: 1000, readyThreads: 0 },
  /** Makes networks for the programs of nodes, one after the other: it is in them meanwhile. */
  namespaces: { threads: 1, queueLimit: 10_000, readyThreads: 0 },
  /** The memory of guests, which are held meanwhile, to and from files. */
  memories: { threads: 2, queueLimit: 1000, readyThreads: 0 },
  /** Each check of a password takes a core for a while: others have the rest. */
  passwords: { threads: Math.max(1, availableParallelism() >> 1), queueLimit: 1000, readyThreads: 0 },
  /** Snapshots, exports and imports: two for long jobs at most, the others for what is short, such as pieces of exports. */
  jobs: { threads: 4, queueLimit: 1000, readyThreads: 0 },
};

export const PASSWORDS_AT_ONCE = SIZES.passwords.threads;
export const ARCHIVES_AT_ONCE = SIZES.archives.threads;

type FileThreadTasks = ApplianceTasks &
  SettingsTasks &
  AuditTasks &
  CertificateTasks &
  CaptureFileTasks &
  ConfigDiskTasks &
  ConfinementTasks &
  DigestTasks &
  DockerTasks &
  DynamipsTasks &
  FileTasks &
  HistoryTasks &
  HostTasks &
  IouTasks &
  LabTextTasks &
  NodeFileTasks &
  PartLoading &
  ProjectFileTasks &
  QemuHostTasks &
  QemuTasks &
  SnapshotListTasks &
  SymbolTasks &
  VpcsTasks;

type FinitePool = CountedPool & { close(): Promise<void> };

export class Threads {
  /** The buffers in which uploads and downloads cross threads. */
  readonly slabs = new Slabs();
  readonly disk: TaskPool<DiskTasks & PartTasks>;
  readonly readers: TaskPool<DiskTasks & ImageTasks & MeasureTasks>;
  readonly archives: TaskPool<NodeArchiveTasks>;
  readonly files: FilePool<FileThreadTasks>;
  readonly chores: TaskPool<FileChores>;
  readonly logs: TaskPool<LogTasks>;
  readonly expressions: TaskPool<BpfTasks>;
  readonly namespaces: TaskPool<NamespaceTasks>;
  readonly memories: TaskPool<MemoryTasks>;
  readonly passwords: TaskPool<PasswordTasks>;
  readonly jobs: TaskPool<
    AuditCheckTasks & BackupTasks & CompareTasks & FileChangeTasks & ArchiveTasks & SnapshotTasks
  >;

  constructor({ uploadFloor: floor }: Config) {
    const diskWorker = (role: string): Pick<TaskPoolOptions, 'worker' | 'workerData'> => ({
      worker: workerAt('disk'),
      workerData: { slabs: this.slabs.memory, floor, role },
    });
    this.disk = new TaskPool({ ...SIZES.disk, ...diskWorker('disk') });
    this.readers = new TaskPool({ ...SIZES.readers, ...diskWorker('reader') });
    this.archives = new TaskPool({ ...SIZES.archives, ...diskWorker('archive') });
    this.files = new FilePool(
      { ...SIZES.files, worker: workerAt('file') },
      new FileReads(this.slabs, this.readers),
    );
    this.logs = new TaskPool({ ...SIZES.logs, worker: workerAt('log') });
    this.chores = new TaskPool({ ...SIZES.chores, worker: workerAt('chore') });
    this.expressions = new TaskPool({ ...SIZES.expressions, worker: workerAt('expression') });
    this.namespaces = new TaskPool({ ...SIZES.namespaces, worker: workerAt('namespace') });
    this.memories = new TaskPool({ ...SIZES.memories, worker: workerAt('memory'), workerData: { floor } });
    this.passwords = new TaskPool({ ...SIZES.passwords, worker: workerAt('password') });
    this.jobs = new TaskPool({ ...SIZES.jobs, worker: workerAt('job'), workerData: { floor } });
  }

  /** All pools by their names. */
  get pools(): Readonly<Record<string, FinitePool>> {
    return {
      files: this.files,
      disk: this.disk,
      archives: this.archives,
      readers: this.readers,
      chores: this.chores,
      logs: this.logs,
      expressions: this.expressions,
      namespaces: this.namespaces,
      memories: this.memories,
      passwords: this.passwords,
      jobs: this.jobs,
    };
  }

  /** Call it when nothing uses the threads any more. */
  async close(): Promise<void> {
    for (const pool of Object.values(this.pools)) await pool.close();
  }
}
