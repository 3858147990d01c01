/** The route table: every path of the server. A new resource adds its file and one line here. */
import type { Gate } from '../http/gate.js';
import { jsonText } from '../http/answer.js';
import type { Intake } from '../base/intake.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { CaptureLibrary } from '../captures/files/capture-library.js';
import type { ProjectCaptures } from '../captures/link-captures.js';
import type { PortCaptures } from '../captures/port-captures.js';
import type { NodeFolders } from '../files/node-files/node-folders.js';
import type { NodeFileTasks } from '../files/node-files/node-file-tasks.js';
import type { FileThreads } from '../http/file-source.js';
import type { FolderTasks } from '../lab/projects/folder-tasks.js';
import type { LocalCompute } from '../run/local-compute.js';
import { openApi } from '../http/openapi.js';
import { route, type RouteTable } from '../http/route.js';
import { placed } from '../http/route-scope.js';
import type { ImageLibrary } from '../files/images/image-library.js';
import type { Controller } from '../lab/controller.js';
import type { NodeArchives } from '../files/node-files/node-archives.js';
import { openObject } from '../lab/gns3-file/topology-schema.js';
import { PRODUCT } from '../base/product.js';
import type { Deals } from '../operations/deals.js';
import type { LabFiles } from '../operations/lab-files/lab-files.js';
import type { Doctor } from '../operations/doctor/doctor.js';
import type { Backups } from '../operations/backup/backups.js';
import type { Jobs } from '../snapshots/jobs.js';
import type { ProjectArchives } from '../snapshots/projects/project-archives.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import type { Audit } from '../lab/audit/audit.js';
import type { AuditChecks } from '../operations/audit-checks.js';
import type { History } from '../operations/history/history.js';
import type { SettingsReload } from '../operations/settings-reload.js';
import type { Overview } from '../operations/overview.js';
import type { Readiness } from '../operations/readiness.js';
import type { Transfers } from '../files/transfer/transfers.js';
import type { Uploads } from '../files/uploads/uploads.js';
import type { Grants } from '../lab/access/grants.js';
import type { Groups } from '../lab/access/groups.js';
import type { Quotas } from '../lab/quotas/quotas.js';
import type { Sessions } from '../lab/access/sessions.js';
import type { Tokens } from '../lab/access/tokens.js';
import type { Users } from '../lab/access/users.js';
import type { ApplianceLibrary } from '../lab/appliances/appliance-library.js';
import type { HostTasks } from '../run/host-tasks.js';
import { backupRoutes } from './backups.js';
import { applianceRoutes } from './appliances.js';
import { computeCaptureRoutes } from './compute-captures.js';
import { auditRoutes } from './audit.js';
import { captureFileRoutes } from './capture-files.js';
import { computeFileRoutes } from './compute-files.js';
import { computeHost } from './compute-host.js';
import { computeNioRoutes } from './compute-nios.js';
import { computeNodeRoutes } from './compute-nodes.js';
import { computeProjectRoutes } from './compute-projects.js';
import { computeStatisticsRoutes } from './compute-statistics.js';
import { computeWantedRoutes } from './compute-wanted.js';
import { computeRoutes } from './computes.js';
import { consoleFileRoutes } from './console-files.js';
import { consoleRoutes } from './consoles.js';
import { dealRoutes } from './deals.js';
import { debugRoutes } from './debug.js';
import { dockerRoutes } from './docker.js';
import { doctorRoutes } from './doctor.js';
import { drainRoutes } from './drain.js';
import { endTimeRoutes, type EndTimeServices } from './end-times.js';
import { drawingRoutes } from './drawings.js';
import { dynamipsRoutes } from './dynamips.js';
import { forwardingRoutes } from './forwarding.js';
import { grantRoutes } from './grants.js';
import { groupRoutes } from './groups.js';
import { historyRoutes } from './history.js';
import { hostStatisticsRoutes } from './host-statistics.js';
import { healthRoutes } from './health.js';
import { imageRoutes } from './images.js';
import { metricRoutes, type MetricPages } from './metrics.js';
import { linkBatchRoutes } from './link-batches.js';
import { linkCaptureRoutes } from './link-captures.js';
import { iouLicenseRoutes } from './iou-license.js';
import { jobRoutes } from './jobs.js';
import { labOverviewRoutes } from './lab-overview.js';
import { labFileRoutes } from './lab-files.js';
import { linkRoutes } from './links.js';
import { nodeArchiveRoutes } from './node-archives.js';
import { nodeBatchRoutes } from './node-batches.js';
import { nodeFileRoutes } from './node-files.js';
import { nodeRoutes } from './nodes.js';
import { notificationRoutes } from './notifications.js';
import { overviewRoutes } from './overview.js';
import { pageRoutes, startPageRoute } from './pages.js';
import { projectArchiveRoutes } from './project-archives.js';
import { projectFileRoutes } from './project-files.js';
import { projectMapRoutes } from './project-map.js';
import { projectRunRoutes } from './project-run.js';
import { projectTrafficRoutes } from './project-traffic.js';
import { projectRoutes } from './projects.js';
import { quotaRoutes } from './quotas.js';
import { qemuRoutes } from './qemu.js';
import { errorBody, nothing } from './schemas.js';
import { sessionRoutes } from './sessions.js';
import { settingsRoutes } from './settings.js';
import { snapshotRoutes } from './snapshots.js';
import { symbolRoutes } from './symbols.js';
import { templateRoutes } from './templates.js';
import { ticketRoutes } from './tickets.js';
import { unavailableKindRoutes } from './unavailable-kinds.js';
import { tunnelRoutes } from './tunnels.js';
import { uploadRoutes } from './uploads.js';
import { userRoutes } from './users.js';
import { versionRoutes } from './version.js';
import { virtualMachineRoutes } from './virtual-machine.js';
import { webUiRoutes } from './web-ui.js';

/** The parts of the server that the routes need. */
export interface Services {
  readonly users: Users;
  readonly grants: Grants;
  readonly groups: Groups;
  readonly tokens: Tokens;
  readonly quotas: Quotas;
  readonly sessions: Sessions;
  readonly gate: Gate;
  readonly controller: Controller;
  readonly files: FileThreads & TaskRunner<FolderTasks & HostTasks & NodeFileTasks>;
  readonly compute: LocalCompute;
  readonly captures: ProjectCaptures;
  readonly captureFiles: CaptureLibrary;
  readonly portCaptures: PortCaptures;
  readonly transfers: Transfers;
  readonly nodeArchives: NodeArchives;
  readonly nodeFolders: NodeFolders;
  readonly images: ImageLibrary;
  readonly uploads: Uploads;
  readonly jobs: Jobs;
  readonly labFiles: LabFiles;
  readonly deals: Deals;
  readonly ends: EndTimeServices;
  readonly snapshots: Snapshots;
  readonly backups: Backups;
  readonly archives: ProjectArchives;
  readonly appliances: ApplianceLibrary;
  readonly history: History;
  readonly doctor: Doctor;
  readonly audit: Audit;
  readonly auditChecks: AuditChecks;
  readonly intake: Intake;
  readonly readiness: Readiness;
  readonly settings: SettingsReload;
  readonly metrics: MetricPages;
  readonly overview: Overview;
  /** The folder of a built web UI. */
  readonly webUi: string | undefined;
  /** The page at the root of the server. */
  readonly startPage: 'console' | 'web-ui';
  /** The folder for reports. */
  readonly reports: string;
  /** Makes the server stop. */
  readonly shutdown: () => void;
}

export function routeTable({
  gate,
  users,
  tokens,
  sessions,
  grants,
  groups,
  quotas,
  controller,
  files,
  compute,
  captures,
  captureFiles,
  portCaptures,
  transfers,
  nodeArchives,
  nodeFolders,
  images,
  uploads,
  jobs,
  labFiles,
  deals,
  ends,
  snapshots,
  backups,
  archives,
  appliances,
  history,
  doctor,
  audit,
  auditChecks,
  intake,
  readiness,
  settings,
  metrics,
  overview,
  webUi,
  startPage,
  reports,
  shutdown,
}: Services): RouteTable {
  const host = computeHost(controller, compute);
  const linkCaptures = linkCaptureRoutes(controller, captures, files);
  const notifications = notificationRoutes(controller, compute);
  const traffic = projectTrafficRoutes(controller, compute);
  const unavailable = unavailableKindRoutes(controller, compute);
  const consoles = consoleRoutes(controller, compute);
  const glance = overviewRoutes(overview);
  let document: Promise<object> | undefined;
  const table: RouteTable = {
    routes: [
      ...placed('here', [
        ...versionRoutes(controller, shutdown),
        ...healthRoutes(readiness),
        ...ticketRoutes(gate, () => table),
        ...metricRoutes(metrics),
        ...glance.routes,
        ...labOverviewRoutes(controller, { compute, grants, users, ends }),
        ...historyRoutes(controller, history),
        ...doctorRoutes(doctor),
        ...auditRoutes(audit, auditChecks),
        ...drainRoutes({ intake, jobs, transfers }),
        ...settingsRoutes(() => settings.reload()),
        ...forwardingRoutes(controller),
        ...jobRoutes(jobs),
        ...backupRoutes(() => backups, files),
        ...dockerRoutes(controller, compute),
        ...imageRoutes(controller, images, transfers, files),
        ...qemuRoutes(controller, compute),
        ...virtualMachineRoutes(controller),
        ...uploadRoutes(uploads),
        ...host.routes,
        ...tunnelRoutes(controller, compute),
        ...computeProjectRoutes(compute),
        ...computeWantedRoutes(compute, portCaptures),
        ...computeFileRoutes(compute, transfers, files, portCaptures),
        ...computeNodeRoutes(compute),
        ...unavailable.routes,
        ...dynamipsRoutes(controller, compute),
        ...computeNioRoutes(compute),
        ...computeCaptureRoutes(compute, portCaptures),
        ...computeStatisticsRoutes(compute),
        ...hostStatisticsRoutes(controller, files),
        ...debugRoutes(controller, compute, files, reports),
        ...captureFileRoutes(controller, captureFiles, files),
        ...(startPage === 'web-ui' ? [startPageRoute(controller, webUi !== undefined)] : []),
        ...pageRoutes({ controller, compute, images, uploads }),
      ]),
      ...placed('farm', [
        ...userRoutes(users, tokens),
        ...sessionRoutes(gate, users, sessions),
        ...grantRoutes(controller, grants, users),
        ...groupRoutes(controller, { users, groups, grants }),
        ...quotaRoutes(controller, quotas, users),
        ...endTimeRoutes(controller, users, ends),
        ...computeRoutes(controller),
        ...projectRoutes(controller, {
          forgotten: [grants, quotas, deals, ends, history],
          grants,
          jobs,
          files,
        }),
        ...projectArchiveRoutes(controller, grants, archives, transfers, files),
        ...projectFileRoutes(controller, transfers, files),
        ...projectMapRoutes(controller),
        ...projectRunRoutes(controller),
        ...traffic.routes,
        ...nodeRoutes(controller, nodeFolders),
        ...nodeBatchRoutes(controller, nodeFolders),
        ...consoles.routes,
        ...nodeFileRoutes(controller, transfers, files),
        ...nodeArchiveRoutes(controller, transfers, nodeArchives, files),
        ...linkRoutes(controller, () => compute.availableFilters()),
        ...linkBatchRoutes(controller, captures),
        ...linkCaptures.routes,
        ...drawingRoutes(controller),
        ...snapshotRoutes(controller, snapshots, archives, files, jobs),
        ...labFileRoutes(controller, labFiles),
        ...dealRoutes(controller, groups, deals, ends),
        ...templateRoutes(controller, nodeFolders),
        ...iouLicenseRoutes(controller),
        ...symbolRoutes(controller, transfers, files),
      ]),
      ...placed('any', [
        ...notifications.routes,
        ...applianceRoutes(appliances),
        ...consoleFileRoutes(files, startPage !== 'web-ui'),
        ...webUiRoutes(webUi, files),
        route({
          method: 'GET',
          path: '/v2/openapi.json',
          tag: 'Server',
          access: 'signed in',
          summary: 'Describe this interface as an OpenAPI 3.1 document',
          params: nothing,
          answers: { 200: openObject },
          handle: async () => {
            document ??= openApi(table, { title: PRODUCT.name, version: PRODUCT.version }, errorBody);
            return jsonText(200, JSON.stringify(await document));
          },
        }),
      ]),
    ],
    sockets: [
      ...placed('here', [...host.sockets, ...glance.sockets, ...unavailable.sockets]),
      ...placed('farm', [...linkCaptures.sockets, ...traffic.sockets, ...consoles.sockets]),
      ...placed('any', notifications.sockets),
    ],
  };
  return table;
}
