/**
 * The history of each project and of the server: what happened in the last 30 days. Events are written once a second, by one
 * task at a time, so the death of the server may take those of the last second. Nothing that was acknowledged is among them.
 */
import type { Logger } from 'pino';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { HistoryEvent, Remember } from '../../lab/history-event.js';
import type { HistoryTasks } from './history-tasks.js';
import type { EventChoice, RememberedEvent } from './remembered-event.js';

const WRITE_MS = 1000;
const SWEEP_MS = 3_600_000;
/** A project can have so many events in a second; the others are counted. */
const MOST_OF_ONE = 100;
/** All projects together can have so many. */
const MOST_OF_ALL = 5000;
const LONGEST_MESSAGE = 2000;
const LONGEST_NAME = 200;
/** The name of the files of the server as a whole. No project has it: they are called by their ids. */
const SERVER = 'server';

interface HistoryOptions {
  readonly files: TaskRunner<HistoryTasks>;
  readonly folder: string;
  readonly log: Logger;
  readonly now: () => number;
}

/** The events of one project that wait to be written, by what makes them equal. */
interface Waiting {
  readonly events: Map<string, RememberedEvent>;
  lost: number;
}

export class History {
  readonly #options: HistoryOptions;
  readonly #waiting = new Map<string, Waiting>();
  #waitingEvents = 0;
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  start(): void {
    const sweep = (): void => {
      const { folder, now } = this.#options;
      this.#inTurn(() => this.#options.files.run('sweepHistory', { folder, now: now() })).catch(this.#warn);
    };
    this.#sweeper = setInterval(sweep, SWEEP_MS).unref();
    sweep();
  }

  readonly remember: Remember = (projectId, event) => {
    const name = projectId ?? SERVER;
    const waiting = this.#waiting.get(name) ?? { events: new Map<string, RememberedEvent>(), lost: 0 };
    this.#waiting.set(name, waiting);
    this.#timer ??= setTimeout(() => void this.#write(), WRITE_MS).unref();
    const { kind, message, subject, user } = event;
    const key = JSON.stringify([kind, message, subject, user]);
    const equal = waiting.events.get(key);
    if (equal !== undefined) waiting.events.set(key, { ...equal, times: equal.times + 1 });
    else if (waiting.events.size >= MOST_OF_ONE || this.#waitingEvents >= MOST_OF_ALL) waiting.lost++;
    else {
      waiting.events.set(key, this.#remembered(event));
      this.#waitingEvents++;
    }
  };

  /** The events of a project, or of the server as a whole, as a JSON array; the newest first. */
  async page(projectId: string | undefined, choice: EventChoice): Promise<string> {
    await this.#write();
    const { files, folder, now, log } = this.#options;
    const name = projectId ?? SERVER;
    const { text, setAside } = await this.#inTurn(() =>
      files.run('readHistory', { folder, name, choice, now: now() }),
    );
    for (const path of setAside) log.warn({ file: path }, 'a damaged file of the history was set aside');
    return text;
  }

  /** Call it when the project has been deleted. */
  forget(projectId: string): void {
    const { files, folder } = this.#options;
    this.#waitingEvents -= this.#waiting.get(projectId)?.events.size ?? 0;
    this.#waiting.delete(projectId);
    void this.#inTurn(() => files.run('removeHistory', { folder, name: projectId })).catch(this.#warn);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await this.#write();
  }

  readonly #warn = (error: unknown): void => {
    this.#options.log.warn({ err: error }, 'the history could not be written');
  };

  #remembered({ kind, message, subject, user }: HistoryEvent): RememberedEvent {
    return {
      kind,
      message: message.slice(0, LONGEST_MESSAGE),
      subject: subject?.slice(0, LONGEST_NAME) ?? null,
      time: new Date(this.#options.now()).toISOString(),
      times: 1,
      user: user?.slice(0, LONGEST_NAME) ?? null,
    };
  }

  /** Writes what waits. Events that cannot be written are lost, and the log says why. */
  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.size === 0) return;
    const { files, folder } = this.#options;
    const lines = new Map([...this.#waiting].map(([name, waiting]) => [name, this.#linesOf(waiting)]));
    this.#waiting.clear();
    this.#waitingEvents = 0;
    await this.#inTurn(() => files.run('appendHistory', { folder, lines })).catch(this.#warn);
  }

  #linesOf({ events, lost }: Waiting): string {
    const message = `${lost} more events of one second were not kept`;
    const rest = lost === 0 ? [] : [this.#remembered({ kind: 'events_lost', message })];
    return [...events.values(), ...rest].map((event) => `${JSON.stringify(event)}\n`).join('');
  }

  /** Lets one task follow the other. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
