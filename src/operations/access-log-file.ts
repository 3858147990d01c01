/**
 * The access log in a file of its own. Lines are written in groups by a thread beside the others; lines for which the disk is
 * too slow or too full are lost and counted, and no request waits for it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { LogTasks } from '../base/disk/log-tasks.js';
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { TaskRunner } from '../base/threads/task-pool.js';

interface AccessLogFileOptions {
  readonly path: string;
  readonly threads: TaskRunner<LogTasks>;
  /** The log of the server, which is told of trouble. */
  readonly log: Logger;
}

const GATHERED_MS = 200;
/** So many characters wait for the disk. */
const MOST_WAITING = 4 * 1024 * 1024;
/** At the end of the server, the disk has so long for the last lines. */
const LAST_MS = 2000;

export class AccessLogFile {
  readonly #options: AccessLogFileOptions;
  #waiting: string[] = [];
  #length = 0;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lost = 0;
  #isInTrouble = false;

  constructor(options: AccessLogFileOptions) {
    this.#options = options;
  }

  /** Takes a line with its end. */
  write(line: string): void {
    if (this.#length + line.length > MOST_WAITING) {
      this.#lost++;
      return;
    }
    this.#waiting.push(line);
    this.#length += line.length;
    this.#soon();
  }

  readonly writeMetrics = (page: MetricPage): void => {
    page.counter('access_log_lost', 'Lines of the access log for which its disk was too slow or too full');
    page.sample(this.#lost);
  };

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const last = async (): Promise<void> => {
      await this.#writing;
      if (this.#waiting.length > 0) await this.#write();
    };
    await Promise.race([last(), sleep(LAST_MS, undefined, { ref: false })]);
  }

  #soon(): void {
    if (this.#writing !== undefined) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
        if (this.#waiting.length > 0) this.#soon();
      });
    }, GATHERED_MS).unref();
  }

  async #write(): Promise<void> {
    const { path, threads, log } = this.#options;
    const lines = this.#waiting;
    this.#waiting = [];
    const text = lines.join('');
    try {
      await threads.run('appendLog', { path, text });
      this.#isInTrouble = false;
    } catch (error) {
      this.#lost += lines.length;
      if (!this.#isInTrouble) log.error({ err: error, file: path }, 'the access log loses lines');
      this.#isInTrouble = true;
    }
    this.#length -= text.length;
  }
}
