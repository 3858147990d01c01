/** The history of a running server, and what is watched for it. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { CountedLab } from '../engine/control/engines.js';
import type { Exchange } from '../http/exchange.js';
import { isChanging } from '../http/dispatcher.js';
import type { RouteAccess } from '../http/route-access.js';
import type { Remember } from '../lab/history-event.js';
import { ProjectUses } from '../lab/projects/project-uses.js';
import { DiskWatch } from '../operations/history/disk-watch.js';
import { DropWatch } from '../operations/history/drop-watch.js';
import { History } from '../operations/history/history.js';
import { RequestEvents } from '../operations/history/request-events.js';
import type { Config } from './config.js';
import { HISTORY } from './folders.js';
import type { ServerStore } from './server-store.js';
import type { Threads } from './threads.js';

const OK = 200;
const REFUSED = 400;

interface ServerHistoryOptions {
  readonly config: Config;
  readonly store: ServerStore;
  readonly files: Threads['files'];
  readonly log: Logger;
  readonly labs: () => Iterable<CountedLab>;
  /** The time of day. */
  readonly now: () => number;
  readonly isProject: (id: string) => boolean;
  /** Called when a user has come to an address anew. */
  readonly signedIn: (exchange: Exchange) => void;
}

export class ServerHistory {
  readonly history: History;
  /** Events of projects that only the compute knows are nobody's to read. */
  readonly remember: Remember;
  readonly disks: DiskWatch;
  readonly uses: ProjectUses;
  /** The time of day. */
  readonly now: () => number;
  readonly #drops: DropWatch;
  readonly #requests: RequestEvents<Exchange>;

  constructor({ config, store, files, log, labs, now, isProject, signedIn }: ServerHistoryOptions) {
    this.now = now;
    this.history = new History({ files, log, folder: join(config.data, HISTORY), now });
    const remember: Remember = (projectId, event) => {
      if (projectId === undefined || isProject(projectId)) this.history.remember(projectId, event);
    };
    this.remember = remember;
    this.disks = new DiskWatch(remember);
    this.#drops = new DropWatch({ labs, remember });
    const clock = (): number => performance.now();
    this.#requests = new RequestEvents({ remember, isProject, signedIn, now: clock });
    this.uses = new ProjectUses({ store, isProject, now, clock });
  }

  readonly ended = (exchange: Exchange): void => {
    // The server that has answered a forwarded request remembers it.
    if (exchange.owner !== undefined) return;
    this.#requests.answered(exchange);
    const { method, status, rule } = exchange;
    const isDone = status >= OK && status < REFUSED;
    if (rule !== undefined && isDone && isChanging(method)) this.#use(rule.params);
  };

  /** A stream that goes on. People who watch packets use a lab. */
  readonly streams = (access: RouteAccess, params: Readonly<Record<string, string>>): void => {
    if (typeof access === 'object' && access.right === 'capture') this.#use(params);
  };

  readonly used = (projectId: string): void => {
    this.uses.note(projectId);
  };

  start(): void {
    this.history.start();
    this.#drops.start();
  }

  async close(): Promise<void> {
    this.#drops.stop();
    await this.uses.close();
    await this.history.close();
  }
  #use({ project_id: id }: Readonly<Record<string, string>>): void {
    if (id !== undefined) this.used(id);
  }
}
