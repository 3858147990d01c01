/** Everything that the controller interface is about, wired: computes, projects, templates, symbols. */
import type { Logger } from 'pino';
import type { Store } from '../store/store.js';
import { SymbolLibrary } from '../symbols/symbol-library.js';
import { Channel } from './channel.js';
import { Computes } from './computes.js';
import { ConsolePorts } from './console-ports.js';
import type { Files } from './files.js';
import { HostLoadMeter, type HostLoad } from './host-load.js';
import { Projects } from './projects.js';
import { Templates } from './templates.js';
import type { Surroundings } from './topology.js';

export interface FarmOptions {
  readonly store: Store;
  readonly files: Files;
  readonly log: Logger;
  readonly host: string;
  readonly user: string | null;
  readonly projectsFolder: string;
  readonly symbolsFolder: string;
  readonly gns3Version: string;
  readonly isLocal: boolean;
}

const LOAD_INTERVAL_MS = 1000;

export class Farm {
  readonly announcements = new Channel();
  readonly computes: Computes;
  readonly projects: Projects;
  readonly templates: Templates;
  readonly symbols: SymbolLibrary;
  readonly files: Files;
  readonly gns3Version: string;
  readonly isLocal: boolean;
  readonly #meter = new HostLoadMeter();
  #loadTimer: NodeJS.Timeout | undefined;

  constructor(options: FarmOptions) {
    const { store, files, log, gns3Version } = options;
    const consolePorts = new ConsolePorts();
    this.files = files;
    this.gns3Version = gns3Version;
    this.isLocal = options.isLocal;
    this.symbols = new SymbolLibrary(options.symbolsFolder, files);
    this.computes = new Computes({
      store,
      announcements: this.announcements,
      consolePorts,
      gns3Version,
      // Clients on this machine reach a server that listens everywhere under this name.
      host: options.host === '0.0.0.0' ? '127.0.0.1' : options.host,
      user: options.user,
      readLoad: () => this.load(),
    });
    this.templates = new Templates(store, this.announcements);
    const surroundings: Surroundings = {
      consoleHost: options.host,
      consolePorts,
      symbolSize: (symbol) => this.symbols.nodeSize(symbol),
      checkCompute: (id, request) => {
        this.computes.checkServed(id, request);
      },
    };
    this.projects = new Projects({
      store,
      files,
      log,
      gns3Version,
      surroundings,
      announcements: this.announcements,
      folder: options.projectsFolder,
      allowAnyPath: options.isLocal,
    });
  }

  async start(): Promise<void> {
    await Promise.all([this.computes.start(), this.templates.start(), this.symbols.start()]);
    await this.projects.start();
    this.#loadTimer = setInterval(() => {
      if (this.announcements.size > 0) this.computes.announceLoad();
    }, LOAD_INTERVAL_MS);
    this.#loadTimer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#loadTimer);
    await this.projects.close();
  }

  load(): HostLoad {
    return this.#meter.read();
  }
}
