/** All metrics of the server, in the order of their page. */
import type { HostLoad } from '../base/host-load.js';
import type { MetricPage, MetricSource } from '../base/metrics/metric-page.js';
import { PRODUCT } from '../base/product.js';
import type { MetricPages } from '../api/metrics.js';
import { writePools } from '../base/threads/pool-metrics.js';
import type { RunningCaptures } from '../captures/running-captures.js';
import type { Engines } from '../engine/control/engines.js';
import type { Uploads } from '../files/uploads/uploads.js';
import type { Transfers } from '../files/transfer/transfers.js';
import type { HttpServer } from '../http/server.js';
import type { Projects } from '../lab/projects/projects.js';
import type { Audit } from '../lab/audit/audit.js';
import type { CertificateWatch } from '../operations/certificate-watch.js';
import { HostMetrics } from '../operations/host-metrics.js';
import type { WatchedDisk } from '../operations/measure-tasks.js';
import { writeLabs, writeProjects } from '../operations/lab-metrics.js';
import { LoopMetrics } from '../operations/loop-metrics.js';
import { Overview } from '../operations/overview.js';
import type { Quotas } from '../lab/quotas/quotas.js';
import { writeLinks } from '../operations/link-metrics.js';
import type { Keeper } from '../run/keeper/keeper.js';
import type { LocalCompute } from '../run/local-compute.js';
import type { RunningNodes } from '../run/running-nodes.js';
import type { SnapshotCounts } from '../snapshots/snapshot-counts.js';
import type { Jobs } from '../snapshots/jobs.js';
import type { RequestLog } from './request-log.js';
import type { ServerStore } from './server-store.js';
import type { Threads } from './threads.js';

interface MetricsOptions {
  readonly threads: Threads;
  readonly mostDescriptors: number;
  /** The folders whose disks are watched, by their names. */
  readonly parts: Readonly<Record<string, string>>;
  readonly compute: LocalCompute;
  readonly keeper: Keeper;
  readonly running: RunningNodes;
  readonly snapshots: SnapshotCounts;
  readonly onDisks: (disks: readonly WatchedDisk[]) => void;
  readonly http: () => HttpServer;
  /** Undefined for a server without a certificate. */
  readonly certificates: () => CertificateWatch | undefined;
  readonly projects: Projects;
  readonly engines: Engines;
  readonly captures: RunningCaptures;
  readonly store: ServerStore;
  readonly transfers: Transfers;
  readonly jobs: Jobs;
  readonly quotas: Quotas;
  readonly audit: Audit;
  readonly uploads: Uploads;
  readonly load: () => HostLoad;
  readonly hasWebUi: boolean;
  readonly requests: RequestLog;
}

export class Metrics {
  readonly pages: MetricPages;
  readonly overview: Overview;
  readonly #loop = new LoopMetrics();
  readonly #host: HostMetrics;

  constructor({
    threads,
    mostDescriptors,
    parts,
    onDisks,
    http,
    certificates,
    projects,
    ...areas
  }: MetricsOptions) {
    const programs = (): NodeProgram[] => nodePrograms(projects, areas);
    this.#host = new HostMetrics({ readers: threads.readers, parts, mostDescriptors, onDisks, programs });
    const { engines, captures, store, transfers, jobs, quotas, snapshots, audit, requests } = areas;
    const server: MetricSource[] = [
      writeBuild,
      this.#host.writeMetrics,
      this.#loop.writeMetrics,
      (page) => http().writeMetrics(page),
      (page) => certificates()?.writeMetrics(page),
      (page) => writeLabs(page, projects),
      (page) => {
        snapshots.writeMetrics(page, projects);
      },
      engines.writeMetrics,
      captures.writeMetrics,
      store.writeMetrics,
      (page) => {
        writePools(page, { ...threads.pools, ...(store.pool && { state: store.pool }) });
      },
      transfers.writeMetrics,
      jobs.writeMetrics,
      (page) => quotas.writeMetrics(page),
      audit.writeMetrics,
      (page) => requests.file?.writeMetrics(page),
    ];
    this.overview = new Overview({ ...areas, projects, disks: () => this.#host.disks });
    this.pages = {
      server,
      projects: [(page) => writeProjects(page, projects)],
      linksOf: (projectId) => {
        const { id } = projects.find(projectId);
        return [(page) => writeLinks(page, areas.compute.runOf(id)?.wires.counted() ?? [])];
      },
    };
  }

  start(): void {
    this.#loop.start();
    this.#host.start();
  }

  stop(): void {
    this.#loop.stop();
    this.#host.stop();
  }
}

interface NodeProgram {
  readonly pid: number;
  readonly kind: string;
}

/** The programs that the keeper runs, and the containers that it ends, by the kinds of their nodes. */
function nodePrograms(
  projects: Projects,
  { keeper, running }: Pick<MetricsOptions, 'keeper' | 'running'>,
): NodeProgram[] {
  const kinds = new Map<string, string>();
  for (const [projectId, nodeId] of running.all()) {
    const project = projects.all.get(projectId);
    const node = project?.isOpen === true ? project.topology.nodes.get(nodeId) : undefined;
    if (node !== undefined) kinds.set(nodeId, node.node_type);
  }
  return [...keeper.running].flatMap(({ id, measuredPid: pid }) => {
    const [nodeId = ''] = id.split('/', 1);
    const kind = kinds.get(nodeId);
    return kind === undefined ? [] : [{ pid, kind }];
  });
}

function writeBuild(page: MetricPage): void {
  page.info('build', 'The versions of the server and of Node.js');
  page.sample(1, { version: PRODUCT.version, node: process.version });
}
