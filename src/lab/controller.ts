/** The objects of the controller interface, put together: computes, projects, templates and symbols. */
import type { Logger } from 'pino';
import { refusals } from '../base/errors/errors.js';
import type { Store } from '../base/store/store.js';
import { SymbolLibrary } from './symbols/symbol-library.js';
import { Channel } from '../base/streams/channel.js';
import { Computes, type PortNumbers } from './computes.js';
import { ConsolePorts } from './console-ports.js';
import { HostLoadMeter, type HostLoad } from '../base/host-load.js';
import { LOCAL_COMPUTE } from './gns3-file/topology-schema.js';
import { IouLicense } from './iou-license.js';
import { VirtualMachine } from './virtual-machine.js';
import type { BeginRun } from './lab-run.js';
import { Projects } from './projects/projects.js';
import { Templates } from './templates.js';
import type { ProjectsElsewhere } from './projects/elsewhere.js';
import type { SymbolTasks } from './symbols/symbol-tasks.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { KeepState } from './gns3-file/mirror.js';
import type { ProjectFiles, ProjectServices } from './projects/project-state.js';
import type { Claims } from './quotas/quotas.js';
import { HostNumbers } from './topology/host-numbers.js';
import type { TopologyContext } from './topology/topology.js';

interface ControllerOptions {
  readonly store: Store;
  readonly intake: ProjectServices['intake'];
  readonly files: ProjectFiles & TaskRunner<SymbolTasks>;
  readonly mendFolder: ProjectServices['mendFolder'];
  readonly contentLoaded: ProjectServices['contentLoaded'];
  readonly keepState: KeepState;
  readonly log: Logger;
  readonly udpPorts: PortNumbers;
  /** The first and the last TCP port of consoles. */
  readonly consolePorts: readonly [first: number, last: number];
  readonly host: string;
  /** Where consoles of nodes listen, now. */
  readonly consoles: { readonly host: string };
  readonly user: string | null;
  readonly projectsFolder: string;
  readonly symbolsFolder: string;
  readonly gns3Version: string;
  readonly isLocal: boolean;
  readonly quotas: Claims;
  /** Set where several servers share the store. */
  readonly elsewhere?: ProjectsElsewhere | undefined;
}

const LOAD_INTERVAL_MS = 1000;

export class Controller {
  readonly announcements = new Channel();
  readonly consolePorts: ConsolePorts;
  readonly computes: Computes;
  readonly projects: Projects;
  readonly templates: Templates;
  readonly symbols: SymbolLibrary;
  readonly iouLicense: IouLicense;
  readonly virtualMachine: VirtualMachine;
  readonly gns3Version: string;
  readonly isLocal: boolean;
  /** The name of this server, where several share one store. */
  readonly server: string | undefined;
  readonly #meter = new HostLoadMeter();
  #loadTimer: NodeJS.Timeout | undefined;
  #beginRun: BeginRun = () => {
    throw new Error('no project can be opened before the controller has started');
  };

  constructor(options: ControllerOptions) {
    const { store, files, log, gns3Version } = options;
    const consolePorts = new ConsolePorts(options.consolePorts);
    this.consolePorts = consolePorts;
    this.gns3Version = gns3Version;
    this.isLocal = options.isLocal;
    this.server = options.elsewhere?.own;
    this.symbols = new SymbolLibrary(options.symbolsFolder, files);
    this.computes = new Computes({
      store,
      announcements: this.announcements,
      consolePorts,
      udpPorts: options.udpPorts,
      gns3Version,
      // Clients on this machine reach a server that listens on all addresses under this one.
      host: options.host === '0.0.0.0' ? '127.0.0.1' : options.host,
      user: options.user,
      readLoad: () => this.load(),
    });
    this.templates = new Templates(store, this.announcements);
    this.iouLicense = new IouLicense(store);
    this.virtualMachine = new VirtualMachine(store);
    const context: TopologyContext = {
      get consoleHost() {
        return options.consoles.host;
      },
      consolePorts,
      hostNumbers: new HostNumbers(consolePorts),
      quotas: options.quotas,
      symbolSize: (symbol) => this.symbols.nodeSize(symbol),
      checkCompute: (id, request) => {
        if (!context.isHere(id)) this.computes.checkReached(id, request);
        if (this.computes.isDrained(id)) throw refusals.computeDrained(this.computes.nameOf(id));
      },
      hasCompute: (id) => id === LOCAL_COMPUTE || this.computes.has(id),
      isHere: (id) => id === LOCAL_COMPUTE || (this.server !== undefined && this.computes.isSelf(id)),
      beginRun: (projectId, right) => this.#beginRun(projectId, right),
    };
    this.projects = new Projects({
      ...{ store, files, log, gns3Version },
      intake: options.intake,
      elsewhere: options.elsewhere,
      context,
      keepState: options.keepState,
      mendFolder: options.mendFolder,
      contentLoaded: options.contentLoaded,
      announcements: this.announcements,
      folder: options.projectsFolder,
      allowAnyPath: options.isLocal,
      ownersOf: (id) => options.quotas.ownersOf(id),
    });
  }

  /** `beginRun` makes projects run that are opened from now on. */
  async start(beginRun: BeginRun): Promise<void> {
    this.#beginRun = beginRun;
    await Promise.all([
      this.computes.start(),
      this.templates.start(),
      this.symbols.start(),
      this.iouLicense.start(),
      this.virtualMachine.start(),
    ]);
    await this.projects.start();
    this.#loadTimer = setInterval(() => {
      if (this.announcements.size > 0) this.computes.announceLoad();
    }, LOAD_INTERVAL_MS);
    this.#loadTimer.unref();
  }

  /** `reopens` tells which of the open projects the next server opens again. */
  async close(reopens: (projectId: string) => boolean): Promise<void> {
    clearInterval(this.#loadTimer);
    await this.projects.close(reopens);
  }

  load(): HostLoad {
    return this.#meter.read();
  }
}
