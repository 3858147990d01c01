/** A running server: everything is made here, in order, and ended in reverse. */
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { pino, type Logger } from 'pino';
import { routeTable } from './api/table.js';
import { BpfCompiler } from './capture/bpf-compiler.js';
import type { BpfTasks } from './capture/bpf-tasks.js';
import { CaptureWriters } from './capture/capture-writers.js';
import { Captures } from './capture/captures.js';
import { ViewerClock } from './capture/viewer-clock.js';
import { LocalCompute } from './compute/local-compute.js';
import type { ComputeFiles } from './compute/files.js';
import { UdpPorts } from './compute/udp-ports.js';
import type { Config } from './config.js';
import { Engines } from './engines/engines.js';
import { Gate } from './http/gate.js';
import { ImageLibrary } from './images/image-library.js';
import type { ImageTasks } from './images/image-tasks.js';
import { Farm } from './lab/farm.js';
import type { Files } from './lab/files.js';
import type { NodeArchiveTasks } from './lab/node-archive-tasks.js';
import { nodeFileLanding } from './lab/node-folder.js';
import { TaskPool } from './pool/task-pool.js';
import { PRODUCT } from './product.js';
import { hostSockets } from './sockets/host-sockets.js';
import { RECEIVE_BUFFER } from './sockets/opener.js';
import type { CompareTasks } from './snapshots/compare-tasks.js';
import { Jobs } from './snapshots/jobs.js';
import { projectExchange, type ExchangeTasks } from './snapshots/project-exchange.js';
import type { SnapshotListTasks } from './snapshots/snapshot-list-tasks.js';
import type { SnapshotTasks } from './snapshots/snapshot-tasks.js';
import { Snapshots } from './snapshots/snapshots.js';
import { onStopSignal } from './stop-signal.js';
import { lockFolder } from './storage/folder-lock.js';
import { StateThread } from './store/state-thread.js';
import type { DiskTasks } from './transfer/disk-tasks.js';
import { FilePool } from './transfer/file-pool.js';
import { FileReads } from './transfer/file-reads.js';
import { Slabs } from './transfer/slabs.js';
import { Transfers } from './transfer/transfers.js';
import type { PartTasks } from './uploads/part-tasks.js';
import { Uploads } from './uploads/uploads.js';

const FILE_THREADS = 2;
const FILE_QUEUE_LIMIT = 10_000;
/** What they do waits for the disk side by side. More readers would read no faster, and keep syncs waiting. */
const DISK_THREADS = 4;
const READER_THREADS = 3;
const DISK_QUEUE_LIMIT = 10_000;
const JOB_THREADS = 1;
/** Two for long jobs at most; the others are for what is short, as the pieces of exports are. */
const LONG_JOB_THREADS = 4;
const JOB_QUEUE_LIMIT = 1000;
/** What is in flight when the server is told to stop has this long to finish. */
const GRACE_MS = 5000;
const LARGEST_HEADERS = 16 * 1024;

export async function serve(config: Config): Promise<void> {
  prepareFolders(config);
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: false }));
  const store = new StateThread(config.state);
  const slabs = new Slabs();
  const diskThreads = {
    worker: new URL('../workers/disk-worker.js', import.meta.url),
    threads: DISK_THREADS,
    queueLimit: DISK_QUEUE_LIMIT,
    startsOnUse: true,
    workerData: { slabs: slabs.memory },
  };
  // Apart, so that no reader waits behind a sync of gigabytes.
  const disk = new TaskPool<DiskTasks & NodeArchiveTasks & PartTasks>(diskThreads);
  const readers = new TaskPool<DiskTasks & ImageTasks>({ ...diskThreads, threads: READER_THREADS });
  const files: ComputeFiles & Files & FilePool<SnapshotListTasks> = new FilePool(
    {
      worker: new URL('../workers/file-worker.js', import.meta.url),
      threads: FILE_THREADS,
      queueLimit: FILE_QUEUE_LIMIT,
    },
    new FileReads(slabs, readers),
  );
  const transfers = new Transfers({
    worker: new URL('../workers/transfer-worker.js', import.meta.url),
    slabs,
    disk,
    isSynced: config.syncsFiles,
    log,
  });
  const jobThreads = {
    worker: new URL('../workers/job-worker.js', import.meta.url),
    queueLimit: JOB_QUEUE_LIMIT,
    startsOnUse: true,
  };
  const expressions = new TaskPool<BpfTasks>({ ...jobThreads, threads: JOB_THREADS });
  // Apart, so that nobody who sets a filter waits for a snapshot.
  const longJobs = new TaskPool<CompareTasks & ExchangeTasks & SnapshotTasks>({
    ...jobThreads,
    threads: LONG_JOB_THREADS,
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
    worker: new URL('../workers/engine-worker.js', import.meta.url),
    newBell: () => sockets.newBell(),
    log,
    onRestart: (labs, reason) => {
      compute.engineRestarted(labs, reason);
    },
  });
  const bpf = new BpfCompiler(expressions);
  const writers = new CaptureWriters({
    worker: new URL('../workers/capture-worker.js', import.meta.url),
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
    landingOf: (target) =>
      'emulator' in target
        ? images.landing(target.emulator, target.filename)
        : nodeFileLanding(farm.projects.find(target.project_id), target.node_id, target.path),
  });
  await images.start();
  // What it lets land must find the images ready.
  await uploads.start();

  const jobs = new Jobs(farm.announcements);
  const snapshots = new Snapshots({ files, longJobs, jobs, log });
  const archives = projectExchange({
    farm,
    jobs,
    longJobs,
    imagesFolder: config.images,
    temporaryImages: temporaryImages(config),
  });

  const gate = new Gate(config);
  warnOfOpenServer(config, gate, log);
  warnOfSmallBuffers(await sockets.opener.grantedBuffer(), log);
  // The library reads the limit when it is loaded.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(LARGEST_HEADERS);
  const { HttpServer } = await import('./http/server.js');
  const stop = onStopSignal();
  const server = new HttpServer({
    gate,
    table: routeTable({
      ...{ farm, compute, transfers, disk, images, uploads, jobs, snapshots, archives },
      shutdown: stop.begin,
    }),
    maxJsonBody: config.maxJsonBody,
    name: `${PRODUCT.name}/${PRODUCT.version}`,
    log,
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
  await jobs.close();
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
  await readers.close();
  await expressions.close();
  await longJobs.close();
  log.info('stopped');
  log.flush();
  process.exit(0);
}

/** Fails with one clear line when the data cannot be kept where it should be. */
function prepareFolders(config: Config): void {
  for (const folder of [config.data, config.projects, config.state, config.images, config.uploads]) {
    try {
      makeFolder(folder);
      accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      throw new Error(
        `cannot write to the folder ${folder}: ${error instanceof Error ? error.message : ''}`,
        {
          cause: error,
        },
      );
    }
  }
  lockFolder(config.state);
  rmSync(temporaryImages(config), { recursive: true, force: true });
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

function warnOfOpenServer(config: Config, gate: Gate, log: Logger): void {
  if (gate.isLoopback || gate.needsCredentials) return;
  log.warn(
    { host: config.host },
    'everybody who can reach this address can use this server: it has no password',
  );
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
