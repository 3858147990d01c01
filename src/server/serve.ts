/** A running server: everything is made here, in order, and ended in reverse. */
import { join } from 'node:path';
import { pino } from 'pino';
import { routeTable } from '../api/table.js';
import { Intake } from '../base/intake.js';
import { PRODUCT } from '../base/product.js';
import { CaptureLibrary } from '../captures/files/capture-library.js';
import { CaptureRetention } from '../captures/files/capture-retention.js';
import { MendedCaptures } from '../captures/files/mended-captures.js';
import { RunningCaptures } from '../captures/running-captures.js';
import { ProjectCaptures } from '../captures/link-captures.js';
import { ViewerClock } from '../captures/log/viewer-clock.js';
import { PortCaptures } from '../captures/port-captures.js';
import { CaptureWriters } from '../captures/writing/capture-writers.js';
import { BpfCompiler } from '../engine/bpf/bpf-compiler.js';
import { Engines } from '../engine/control/engines.js';
import { hostSockets } from '../engine/sockets/host-sockets.js';
import { RunningNodes } from '../run/running-nodes.js';
import { SavedStates } from '../run/saved-states.js';
import { NodeArchives } from '../files/node-files/node-archives.js';
import { NodeFolders } from '../files/node-files/node-folders.js';
import { nodeFileLanding } from '../files/node-files/node-folder.js';
import { Transfers } from '../files/transfer/transfers.js';
import { Uploads } from '../files/uploads/uploads.js';
import { farmRuns } from '../farm/computes/farm-run.js';
import { Gate } from '../http/gate.js';
import { GuessBrake } from '../http/guess-brake.js';
import { Accounts } from '../lab/access/accounts.js';
import { ApplianceLibrary } from '../lab/appliances/appliance-library.js';
import { Controller } from '../lab/controller.js';
import { Readiness } from '../operations/readiness.js';
import { StoreProbe } from '../operations/store-probe.js';
import { Doctor } from '../operations/doctor/doctor.js';
import { Systemd } from '../operations/systemd.js';
import { SnapshotCounts } from '../snapshots/snapshot-counts.js';
import { UdpPorts } from '../run/links/udp-ports.js';
import { Quotas } from '../lab/quotas/quotas.js';
import { LocalCompute } from '../run/local-compute.js';
import { LabFiles } from '../operations/lab-files/lab-files.js';
import { CertificateWatch } from '../operations/certificate-watch.js';
import type { StartSettings } from './config.js';
import { consoleReach } from './console-reach.js';
import { patientOf } from './doctor.js';
import {
  CONFIGS,
  CONTAINERS,
  guestSocketsFolder,
  hadPrograms,
  keeperFolder,
  partsOf,
  prepareFolders,
  REPORTS,
  serverMark,
  SYMBOLS,
} from './folders.js';
import { LiveSettings } from './live-settings.js';
import { Metrics } from './metrics.js';
import { RequestAudit } from './request-audit.js';
import { requestLog } from './request-log.js';
import { auditChecks, serverAudit } from './server-audit.js';
import { ServerHistory } from './server-history.js';
import { ServerImages } from './images.js';
import { nodePlacing, otherComputes, udpReach } from './other-computes.js';
import { programKeeper } from './program-keeper.js';
import { storedLabs } from './stored-labs.js';
import { checkGuarded } from './reach.js';
import { startCertificate } from './start-certificate.js';
import { tellOfKeptNodes, tellOfStore, warnOfOpenServer, warnOfSmallBuffers } from './start-notices.js';
import { onStopSignal } from './stop-signal.js';
import { serverStore } from './store.js';
import { ARCHIVES_AT_ONCE, LOOPS, PASSWORDS_AT_ONCE, type Threads } from './threads.js';

/** Requests that are under way when the server is told to stop may take so long to finish. */
const GRACE_MS = 5000;
const LARGEST_HEADERS = 16 * 1024;

/** Runs the server until it ends the process. The threads are the caller's when the start fails. */
export async function serve(start: StartSettings, threads: Threads): Promise<void> {
  const { config } = start;
  prepareFolders(config);
  const sink = pino.destination({ dest: 2, sync: false });
  const log = pino({ level: config.logLevel }, sink);
  const stop = onStopSignal((error) => {
    log.fatal({ err: error }, 'the server has a fault and ends: whoever started it should start it again');
  });
  const systemd = new Systemd(config.systemd, log);
  systemd.starting();
  const store = await serverStore(config, log);
  const certificate = await startCertificate(config, threads.files);
  // The library reads the limit when it is loaded, which happens while other threads start.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(LARGEST_HEADERS);
  const http = import('../http/server.js');
  tellOfStore(await store.open(), log);
  const accounts = new Accounts({
    store,
    threads: threads.passwords,
    atOnce: PASSWORDS_AT_ONCE,
    builtIn: config.credentials,
    now: () => Date.now(),
  });
  const { users, tokens, sessions, groups, grants } = accounts;
  const audit = serverAudit({ config, store, users, log, files: threads.files, now: () => Date.now() });
  const live = new LiveSettings(start, { files: threads.files, hasUsers: () => users.size > 0, log });
  const requests = requestLog({ config, threads, log, sink, now: () => Date.now() });
  live.follow(({ logLevel }) => (log.level = logLevel));
  const consoles = consoleReach(live, () => users.size > 0);
  const quotas = new Quotas({ store, users, grants, defaults: () => live.config.quotas });
  await Promise.all([accounts.start(), quotas.start(), audit.start()]);
  checkGuarded(config, users.size > 0);
  const { files, slabs, disk } = threads;
  const intake = new Intake();
  const transfers = new Transfers({
    worker: LOOPS.transfer,
    ...{ slabs, disk, intake },
    isSynced: config.syncsFiles,
    floor: config.uploadFloor,
    log,
  });
  const sockets = await hostSockets(process.platform);
  const { confinement, keeper } = programKeeper(config, threads, log);
  const left = hadPrograms(config) ? keeper.start() : Promise.resolve([]);
  const udpPorts = new UdpPorts(config.udpPorts, (port) => sockets.opener.isFree(port));
  const mended = new MendedCaptures(files);
  const snapshotCounts = new SnapshotCounts(files);
  const controller = new Controller({
    ...{ store, files, intake, elsewhere: store.member?.elsewhere },
    keepState: (input) => {
      snapshotCounts.changed(input.projectId);
      return files.run('keepState', input);
    },
    mendFolder: (root) => mended.mend(root),
    contentLoaded: (projectId) => {
      captures.goOn(controller.projects.all.get(projectId));
    },
    log,
    udpPorts,
    consolePorts: config.consolePorts,
    host: config.host,
    consoles,
    user: config.credentials?.user ?? null,
    projectsFolder: config.projects,
    symbolsFolder: join(config.data, SYMBOLS),
    gns3Version: config.gns3Version,
    isLocal: config.local,
    quotas,
  });
  const engines = new Engines({
    worker: LOOPS.engine,
    newBell: () => sockets.newBell(),
    log,
    onRestart: (labs, reason) => {
      compute.engineRestarted(labs, reason);
    },
  });
  const notes = new RequestAudit(audit);
  const happened = new ServerHistory({
    ...{ config, store, files, log },
    signedIn: notes.signedIn,
    now: () => Date.now(),
    labs: () => engines.countedLabs(),
    isProject: (id) => controller.projects.all.has(id),
  });
  const { remember, history } = happened;
  const bpf = new BpfCompiler(threads.expressions);
  const writers = new CaptureWriters({
    worker: LOOPS.capture,
    chores: threads.chores,
    memories: engines.captureMemories,
    log,
    floorBytes: config.captureFloor,
  });
  const running = new RunningNodes({ store, log, now: () => Date.now() });
  const ownImages = new ServerImages({ config, store, threads, controller, transfers, log });
  const images = ownImages.library;
  const compute = new LocalCompute({
    ...{ engines, files, intake, udpPorts, log, bpf },
    opener: sockets.opener,
    memories: threads.memories,
    reach: udpReach(config, users),
    interfaces: config.nioInterfaces,
    refusesBadHec: config.refusesBadHec,
    gns3Version: config.gns3Version,
    projectsFolder: config.projects,
    allowsAnyPath: config.local,
    projects: controller.projects,
    consolePorts: controller.consolePorts,
    keeper,
    images,
    archives: threads.archives,
    running,
    savedStates: new SavedStates(store),
    iouLicense: () => controller.iouLicense.settings,
    programFolder: keeperFolder(config),
    docker: {
      socket: config.dockerSocket,
      mark: serverMark(config),
      resources: join(config.data, CONTAINERS),
      privileges: config.dockerPrivileges,
      keepsNodes: config.keepsNodesSeconds > 0,
    },
    consoles,
    confinement,
    runsUnconfined: !config.isForOthers || config.allowsUnconfined,
    guestSocketsFolder: guestSocketsFolder(config),
    kvm: config.kvm,
    guestFloor: () => live.config.guestFloor,
    quotas,
    allowsUnsafeOptions: config.allowsUnsafeOptions,
    remember,
    used: happened.used,
  });
  const runningCaptures = new RunningCaptures({
    mended,
    writers,
    clock: new ViewerClock(),
    files,
    log,
    quotaBytes: () => live.config.captureQuota,
  });
  const portCaptures = new PortCaptures({ captures: runningCaptures, bpf, quotas, remember });
  const captures = new ProjectCaptures({
    captures: runningCaptures,
    ports: portCaptures,
    bpf,
    runOf: (projectId) => compute.runOf(projectId),
  });
  const captureFiles = new CaptureLibrary(files, (id) => captures.running(controller.projects.find(id)));
  const captureRetention = new CaptureRetention(
    captureFiles,
    controller.projects,
    () => live.config.captureKeepDays,
    log,
  );
  const others = otherComputes({
    ...{ store, controller, compute, images: ownImages, config, log },
    now: () => Date.now(),
  });
  await running.start();
  // A search for programs clears what earlier ones have left, but for those that are kept.
  compute.keep(await left);
  const kindsFound = controller.computes.runs(() => compute.nodeTypes());
  // The reason stands in the log before others come. Elsewhere the first program finds it, and no start waits for a thread.
  if (config.isForOthers) void confinement.problem();
  await controller.start(farmRuns(others, compute, controller.projects));
  void controller.projects.opened.then(() => {
    captureRetention.start();
    return compute.forgetEarlier();
  });

  const uploads = new Uploads({
    folder: config.uploads,
    ...{ disk, files, intake, transfers },
    announcements: controller.announcements,
    ...{ log, quotas },
    landingOf: (target) =>
      'emulator' in target
        ? images.landing(target.emulator, target.filename)
        : nodeFileLanding(controller.projects.find(target.project_id), target.node_id, target.path),
  });
  await images.start();
  // Uploads that land at once need the images to be ready.
  await uploads.start();

  const { jobs, snapshots, archives, deals, backups, ends } = storedLabs({
    ...{ live, threads, store, controller, accounts, intake, log, quotas, happened },
    counts: snapshotCounts,
  });
  const nodeFolders = new NodeFolders({
    files,
    archives: threads.archives,
    configs: join(config.data, CONFIGS),
    placing: nodePlacing({ store, controller, compute, images, others }),
  });
  await Promise.all([deals.start(), ends.times.start(), ends.uses.start()]);
  const labFiles = new LabFiles({ controller, jobs, folders: nodeFolders, files, captures, log });

  const now = (): number => performance.now();
  const gate = new Gate(config, accounts.signIn, new GuessBrake({ log, now }));
  live.follow(gate.follow.bind(gate));
  const metrics: Metrics = new Metrics({
    ...{ threads, engines, store, transfers, uploads, jobs, quotas },
    ...{ compute, keeper, running, audit, requests },
    snapshots: snapshotCounts,
    load: () => controller.load(),
    hasWebUi: config.webUi !== undefined,
    mostDescriptors: sockets.descriptors.most,
    parts: partsOf(config),
    onDisks: happened.disks.look,
    http: () => server,
    certificates: () => certificates,
    projects: controller.projects,
    captures: runningCaptures,
  });
  warnOfOpenServer(config, users.size > 0, log);
  tellOfKeptNodes(config, log);
  warnOfSmallBuffers(await sockets.opener.grantedBuffer(), log);
  const { HttpServer } = await http;
  const probe = new StoreProbe(store);
  const readiness = new Readiness({ probe, engines, intake, audit });
  const server = new HttpServer({
    gate,
    table: routeTable({
      ...{ controller, files, compute, captures, captureFiles, portCaptures },
      ...{ transfers, images, uploads, jobs, labFiles, deals, ends, snapshots, archives, backups },
      ...{ users, tokens, grants, quotas },
      ...{ gate, sessions, groups },
      appliances: new ApplianceLibrary(config.appliances, files, log),
      ...{ history, intake, readiness, audit, settings: live, doctor: new Doctor(patientOf(config)) },
      auditChecks: auditChecks(audit, config, threads.jobs, jobs),
      metrics: metrics.pages,
      overview: metrics.overview,
      webUi: config.webUi,
      startPage: config.startPage,
      reports: join(config.data, REPORTS),
      nodeFolders,
      nodeArchives: new NodeArchives({ disk: threads.archives, atOnce: ARCHIVES_AT_ONCE }),
      shutdown: stop.begin,
    }),
    maxJsonBody: () => live.config.maxJsonBody,
    accessLogSample: () => live.config.accessLogSample,
    rates: () => (users.size > 0 || config.credentials || config.isForOthers ? live.config.rates : undefined),
    name: `${PRODUCT.name}/${PRODUCT.version}`,
    log,
    requestLog: requests.lines,
    descriptors: sockets.descriptors,
    ended: happened.ended,
    streams: happened.streams,
    notes,
    certificate: config.certificate,
    forwarder: store.forwarder,
  });
  const replace = server.replaceCertificate.bind(server);
  const certificates =
    certificate && new CertificateWatch({ files, log, replace, now: () => Date.now() }, certificate);
  await kindsFound;
  metrics.start();
  happened.start();
  ends.watch.start(controller.projects.opened);
  const port = await server.listen(config.host, config.port);
  if (config.redirectPort !== undefined) await server.redirect(config.host, config.redirectPort, port);
  sockets.boundConnectionBuffers();
  if (certificates !== undefined) live.follow(({ certificate: paths }) => certificates.look(paths));
  const reloaded = [certificates, start.file, requests.file].some((part) => part !== undefined);
  if (systemd.isThere || reloaded) stop.reloads(() => void systemd.reloading(() => live.reload()));
  controller.computes.listensOn(port, server.scheme);
  await store.member?.join({ port, advertise: config.advertise ?? '' }, controller.projects);
  ownImages.share();
  process.stdout.write(
    `${PRODUCT.name} ${PRODUCT.version} listens on ${server.scheme}://${urlHost(config.host)}:${port}\n`,
  );
  log.info({ port, data: config.data, gns3Version: config.gns3Version }, 'started');
  void audit.listening();
  systemd.ready({ readiness, probe, engines, projects: controller.projects });

  await stop.requested;
  log.info('stopping');
  systemd.stopping();
  await certificates?.stop();
  await server.close(GRACE_MS);
  metrics.stop();
  bpf.close();
  others.close();
  await jobs.close();
  await ends.watch.close();
  await archives.exports.close();
  captureRetention.stop();
  const leavesPrograms = config.keepsNodesSeconds > 0;
  await running.close();
  compute.stopStarting(leavesPrograms);
  await controller.close((id) => {
    if (store.member !== undefined || others.runs(id)) return true;
    return running.hasNodesOf(id) || captures.running(controller.projects.find(id)).length > 0;
  });
  const keeperEnds = keeper.close(leavesPrograms);
  await runningCaptures.close();
  await writers.close();
  await engines.close();
  compute.close();
  await uploads.close();
  await ownImages.close();
  await transfers.close();
  await keeperEnds;
  await happened.close();
  await accounts.close();
  await audit.close();
  await requests.file?.close();
  await store.close();
  await threads.close();
  log.info('stopped');
  log.flush();
  process.exit(stop.exitCode());
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
