/**
 * Has the certificate of the server replaced when its files change: looked at every minute, and when somebody asks. Files
 * that are no pair change nothing, and the log says why, once for each change.
 */
import type { Logger } from 'pino';
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { TaskPool } from '../base/threads/task-pool.js';
import type { CertificatePaths, CertificateTasks, FoundCertificate } from './certificate-tasks.js';

interface CertificateWatchOptions {
  readonly files: Pick<TaskPool<CertificateTasks>, 'run'>;
  readonly log: Logger;
  /** Throws when the files are no pair. */
  readonly replace: (paths: CertificatePaths) => Promise<void>;
  /** The time of day. */
  readonly now: () => number;
}

const LOOK_MS = 60_000;

export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  readonly #timer: NodeJS.Timeout;
  #paths: CertificatePaths;
  #version: string;
  /** When the certificate that new connections get ends. */
  #ends: number;
  #looking: Promise<void> = Promise.resolve();

  /** `found` is what the server has begun with. */
  constructor(options: CertificateWatchOptions, found: FoundCertificate) {
    this.#options = options;
    this.#paths = found.paths;
    this.#version = found.version;
    this.#ends = Date.parse(found.ends);
    this.#timer = setInterval(() => {
      void this.look();
    }, LOOK_MS).unref();
  }

  /** Takes over what has changed since the last look, also other paths. */
  look(paths = this.#paths): Promise<void> {
    this.#paths = paths;
    return (this.#looking = this.#looking.then(() => this.#look()));
  }

  writeMetrics(page: MetricPage): void {
    page.gauge('certificate_expires_seconds', 'Time until the certificate ends');
    page.sample((this.#ends - this.#options.now()) / 1000);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { files, log, replace } = this.#options;
    try {
      const found = await files.run('readCertificate', this.#paths);
      if (found.version === this.#version) return;
      this.#version = found.version;
      if (found.problem !== undefined) {
        log.error(
          { problem: found.problem },
          'the certificate has changed and cannot be used: the former one stays',
        );
        return;
      }
      await replace(this.#paths);
      this.#ends = Date.parse(found.ends);
      log.info({ names: found.names, ends: found.ends }, 'new connections get the new certificate');
    } catch (error) {
      // The next look tries again.
      this.#version = '';
      log.error({ err: error }, 'the certificate could not be replaced: the former one stays');
    }
  }
}
