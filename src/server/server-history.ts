/** The history of a running server, and what is watched for it. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { CountedLab } from '../engine/control/engines.js';
import type { Exchange } from '../http/exchange.js';
import type { Remember } from '../lab/history-event.js';
import { DiskWatch } from '../operations/history/disk-watch.js';
import { DropWatch } from '../operations/history/drop-watch.js';
import { History } from '../operations/history/history.js';
import { RequestEvents } from '../operations/history/request-events.js';
import type { Config } from './config.js';
import { HISTORY } from './folders.js';
import type { Threads } from './threads.js';

interface ServerHistoryOptions {
  readonly config: Config;
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
  readonly #drops: DropWatch;
  readonly #requests: RequestEvents<Exchange>;

  constructor({ config, files, log, labs, now, isProject, signedIn }: ServerHistoryOptions) {
    this.history = new History({ files, log, folder: join(config.data, HISTORY), now });
    const remember: Remember = (projectId, event) => {
      if (projectId === undefined || isProject(projectId)) this.history.remember(projectId, event);
    };
    this.remember = remember;
    this.disks = new DiskWatch(remember);
    this.#drops = new DropWatch({ labs, remember });
    this.#requests = new RequestEvents({ remember, isProject, signedIn, now: () => performance.now() });
  }

  readonly ended = (exchange: Exchange): void => {
    this.#requests.answered(exchange);
  };

  start(): void {
    this.history.start();
    this.#drops.start();
  }

  async close(): Promise<void> {
    this.#drops.stop();
    await this.history.close();
  }
}
