/** A running server: everything is made here, in order, and ended in reverse. */
import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { pino, type Logger } from 'pino';
import { routeTable } from '../api/table.js';
import { BpfCompiler } from '../engine/bpf/bpf-compiler.js';
import type { BpfTasks } from '../engine/bpf/bpf-tasks.js';
import { CaptureWriters } from '../captures/writing/capture-writers.js';
import { Captures } from '../captures/captures.js';
import { ViewerClock } from '../captures/log/viewer-clock.js';
import { LocalCompute } from '../run/local-compute.js';
import type { ComputeFiles } from '../run/files.js';
import { UdpPorts } from '../run/links/udp-ports.js';
import { isLoopback, type Config } from './config.js';
import { Engines } from '../engine/control/engines.js';
import { Gate } from '../http/gate.js';
import { GuessBrake } from '../http/guess-brake.js';
import { ImageLibrary } from '../files/images/image-library.js';
import type { ImageTasks } from '../files/images/image-tasks.js';
import { Farm } from '../lab/farm.js';
import type { Files } from '../lab/files.js';
import { NOTES } from '../lab/projects/folder-layout.js';
import type { NodeArchiveTasks } from '../files/node-files/node-archive-tasks.js';
import { NodeArchives } from '../files/node-files/node-archives.js';
import { nodeFileLanding } from '../files/node-files/node-folder.js';
import { TaskPool } from '../base/threads/task-pool.js';
import { PRODUCT } from '../base/product.js';
import { hostSockets } from '../engine/sockets/host-sockets.js';
import { RECEIVE_BUFFER } from '../engine/sockets/opener.js';
import type { CompareTasks } from '../snapshots/compare-tasks.js';
import { Jobs } from '../snapshots/jobs.js';
import { projectExchange, type ExchangeTasks } from '../snapshots/projects/project-exchange.js';
import type { SnapshotListTasks } from '../snapshots/snapshot-list-tasks.js';
import type { SnapshotTasks } from '../snapshots/snapshot-tasks.js';
import { Snapshots } from '../snapshots/snapshots.js';
import { onStopSignal } from './stop-signal.js';
import { lockFolders } from '../base/disk/folder-lock.js';
import type { Notice } from '../base/store/journal-opening.js';
import { StateThread } from '../base/store/state-thread.js';
import type { DiskTasks } from '../files/transfer/disk-tasks.js';
import { FilePool } from '../files/downloads/file-pool.js';
import { FileReads } from '../files/downloads/file-reads.js';
import { Slabs } from '../files/transfer/slabs.js';
import { Transfers } from '../files/transfer/transfers.js';
import type { PartTasks } from '../files/uploads/part-tasks.js';
import { Uploads } from '../files/uploads/uploads.js';

const FILE_THREADS = 2;
const FILE_QUEUE_LIMIT = 10_000;
/** What they do waits for the disk side by side. More readers would read no faster, and keep syncs waiting. */
const DISK_THREADS = 4;
const READER_THREADS = 3;
const ARCHIVE_THREADS = 2;
const DISK_QUEUE_LIMIT = 10_000;
const EXPRESSION_THREADS = 1;
/** Two for long jobs at most; the others are for what is short, as the pieces of exports are. */
const LONG_JOB_THREADS = 4;
const JOB_QUEUE_LIMIT = 1000;
/** What is in flight when the server is told to stop has this long to finish. */
const GRACE_MS = 5000;
const LARGEST_HEADERS = 16 * 1024;
const EVERY_PERMISSION = 0o777;
const OWN_FOLDER = 0o700;
const GROUP_PASSES = 0o010;

export async function serve(config: Config): Promise<void> {
  prepareFolders(config);
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: false }));
  const stop = onStopSignal((error) => {
    log.fatal({ err: error }, 'the server has a fault and ends: whoever started it should start it again');
  });
  const store = new StateThread(config.state);
  tellOfStore(await store.open(), log);
  const slabs = new Slabs();
  const diskThreads = {
    worker: new URL('../../workers/disk-worker.js', import.meta.url),
    threads: DISK_THREADS,
    queueLimit: DISK_QUEUE_LIMIT,
    startsOnUse: true,
    workerData: { slabs: slabs.memory, floor: config.uploadFloor },
  };
  // Apart, so that no reader waits behind a sync of gigabytes.
  const disk = new TaskPool<DiskTasks & PartTasks>(diskThreads);
  // Apart, so that no upload waits behind tens of thousands of files.
  const archiveDisk = new TaskPool<NodeArchiveTasks>({ ...diskThreads, threads: ARCHIVE_THREADS });
  const readers = new TaskPool<DiskTasks & ImageTasks>({ ...diskThreads, threads: READER_THREADS });
  const files: ComputeFiles & Files & FilePool<SnapshotListTasks> = new FilePool(
    {
      worker: new URL('../../workers/file-worker.js', import.meta.url),
      threads: FILE_THREADS,
      queueLimit: FILE_QUEUE_LIMIT,
    },
    new FileReads(slabs, readers),
  );
  const transfers = new Transfers({
    worker: new URL('../../workers/transfer-worker.js', import.meta.url),
    slabs,
    disk,
    isSynced: config.syncsFiles,
    floor: config.uploadFloor,
    log,
  });
  const expressions = new TaskPool<BpfTasks>({
    worker: new URL('../../workers/expression-worker.js', import.meta.url),
    threads: EXPRESSION_THREADS,
    queueLimit: JOB_QUEUE_LIMIT,
    startsOnUse: true,
  });
  const longJobs = new TaskPool<CompareTasks & ExchangeTasks & SnapshotTasks>({
    worker: new URL('../../workers/job-worker.js', import.meta.url),
    threads: LONG_JOB_THREADS,
    queueLimit: JOB_QUEUE_LIMIT,
    startsOnUse: true,
    workerData: { floor: config.uploadFloor },
  });
  const sockets = await hostSockets(process.platform);
  const udpPorts = new UdpPorts(config.udpPorts, (port) => sockets.opener.isFree(port));
  const farm = new Farm({
    store,
    files,
    keepState: (input) => files.run('keepState', input),
    log,
    udpPorts,
    host: config.host,
    user: config.credentials?.user ?? null,
    projectsFolder: config.projects,
    symbolsFolder: join(config.data, 'symbols'),
    gns3Version: config.gns3Version,
    isLocal: config.local,
    captureKeepDays: config.captureKeepDays,
  });
  const engines = new Engines({
    worker: new URL('../../workers/engine-worker.js', import.meta.url),
    newBell: () => sockets.newBell(),
    log,
    onRestart: (labs, reason) => {
      compute.engineRestarted(labs, reason);
    },
  });
  const bpf = new BpfCompiler(expressions);
  const writers = new CaptureWriters({
    worker: new URL('../../workers/capture-worker.js', import.meta.url),
    memories: engines.captureMemories,
    log,
    floorOctets: config.captureFloor,
  });
  const captures = new Captures({
    writers,
    clock: new ViewerClock(),
    files,
    quotaOctets: config.captureQuota,
  });
  const compute = new LocalCompute({
    engines,
    files,
    udpPorts,
    captures,
    bpf,
    opener: sockets.opener,
    networks: config.nioNetworks,
    interfaces: config.nioInterfaces,
    refusesBadHec: config.refusesBadHec,
    gns3Version: config.gns3Version,
    projectsFolder: config.projects,
    allowsAnyPath: config.local,
    projects: farm.projects,
    consolePorts: farm.consolePorts,
  });
  await farm.start((projectId) => compute.beginRun(projectId));

  const images = new ImageLibrary({
    folder: config.images,
    temporary: temporaryImages(config),
    disk: readers,
    store,
    projects: farm.projects,
  });
  const uploads = new Uploads({
    folder: config.uploads,
    disk,
    transfers,
    announcements: farm.announcements,
    log,
    landingOf: (target) =>
      'emulator' in target
        ? images.landing(target.emulator, target.filename)
        : nodeFileLanding(farm.projects.find(target.project_id), target.node_id, target.path),
  });
  await images.start();
  // What it lets land must find the images ready.
  await uploads.start();

  const jobs = new Jobs(farm.announcements);
  const notes = join(config.projects, NOTES);
  const snapshots = new Snapshots({ files, longJobs, jobs, notes, log });
  const archives = projectExchange({
    farm,
    jobs,
    longJobs,
    imagesFolder: config.images,
    temporaryImages: temporaryImages(config),
    notes,
  });

  const gate = new Gate(config, new GuessBrake({ log, now: () => performance.now() }));
  warnOfOpenServer(config, log);
  warnOfSmallBuffers(await sockets.opener.grantedBuffer(), log);
  // The library reads the limit when it is loaded.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(LARGEST_HEADERS);
  const { HttpServer } = await import('../http/server.js');
  const server = new HttpServer({
    gate,
    table: routeTable({
      ...{ farm, compute, transfers, images, uploads, jobs, snapshots, archives },
      nodeArchives: new NodeArchives({ disk: archiveDisk, atOnce: ARCHIVE_THREADS }),
      shutdown: stop.begin,
    }),
    maxJsonBody: config.maxJsonBody,
    name: `${PRODUCT.name}/${PRODUCT.version}`,
    log,
    descriptors: sockets.descriptors,
  });
  const port = await server.listen(config.host, config.port);
  sockets.boundConnectionBuffers();
  farm.computes.listensOn(port);
  process.stdout.write(
    `${PRODUCT.name} ${PRODUCT.version} listens on http://${urlHost(config.host)}:${port}\n`,
  );
  log.info({ port, data: config.data, gns3Version: config.gns3Version }, 'started');

  await stop.requested;
  log.info('stopping');
  await server.close(GRACE_MS);
  bpf.close();
  await jobs.close();
  await archives.exports.close();
  await farm.close();
  await captures.close();
  await writers.close();
  await engines.close();
  compute.close();
  await uploads.close();
  await images.close();
  await transfers.close();
  await store.close();
  await files.close();
  await disk.close();
  await archiveDisk.close();
  await readers.close();
  await expressions.close();
  await longJobs.close();
  log.info('stopped');
  log.flush();
  process.exit(stop.exitCode());
}

/** Fails with one clear line when the data cannot be kept where it should be. */
function prepareFolders(config: Config): void {
  const shared = config.groupAccess ? 0o750 : OWN_FOLDER;
  process.umask(EVERY_PERMISSION & ~shared);
  // Folders that lie elsewhere may be those of GNS3.
  const unlessElsewhere = (folder: string): number | undefined =>
    dirname(folder) === config.data ? shared : undefined;
  for (const [folder, mode] of [
    [config.data, undefined],
    [config.projects, unlessElsewhere(config.projects)],
    [config.images, unlessElsewhere(config.images)],
    [config.state, OWN_FOLDER],
    [config.uploads, OWN_FOLDER],
  ] as const) {
    try {
      makeFolder(folder);
      accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      if (mode !== undefined) setPermissions(folder, () => mode);
    } catch (error) {
      throw new Error(
        `cannot write to the folder ${folder}: ${error instanceof Error ? error.message : ''}`,
        {
          cause: error,
        },
      );
    }
  }
  if (config.groupAccess) setPermissions(config.data, (mode) => mode | GROUP_PASSES);
  // Images may be shared. The folder of those on their way is of the state folder, and held with it.
  lockFolders([config.state, config.data, config.projects, config.uploads]);
  for (const leftover of [temporaryImages(config), join(config.projects, NOTES)])
    rmSync(leftover, { recursive: true, force: true });
}

/** Of a folder of this user; others keep what they have chosen for theirs. */
function setPermissions(folder: string, change: (mode: number) => number): void {
  const { uid, mode } = statSync(folder);
  if (uid !== process.geteuid?.()) return;
  const special = mode & ~EVERY_PERMISSION & 0o7777;
  chmodSync(folder, special | change(mode & EVERY_PERMISSION));
}

/**
 * Images on their way: in a folder of this very server below the images folder, which others may serve, too. It is
 * emptied at start.
 */
function temporaryImages({ images, state }: Config): string {
  const server = createHash('sha256')
    .update(`${hostname()} ${realpathSync(state)}`)
    .digest('hex');
  return join(images, 'tmp', server.slice(0, 12));
}

/** Not `recursive`: on a file system that refuses, as /proc does, Node tries that for ever. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

/** Twice when it is bad: as it is for people, too, who may look at the last lines of a server that just came up. */
function tellOfStore(notices: readonly Notice[], log: Logger): void {
  for (const { level, text } of notices) {
    log[level](text);
    if (level === 'error') process.stderr.write(`wirefarm: ${text}\n`);
  }
}

function warnOfOpenServer({ host, credentials }: Config, log: Logger): void {
  if (isLoopback(host) || credentials !== undefined) return;
  log.warn({ host }, 'everybody who can reach this address can use this server: it has no password');
}

function warnOfSmallBuffers(granted: number, log: Logger): void {
  if (granted >= RECEIVE_BUFFER) return;
  log.warn(
    { granted, wanted: RECEIVE_BUFFER },
    'this host grants small receive buffers, so bursts may be lost: raise net.core.rmem_max',
  );
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
