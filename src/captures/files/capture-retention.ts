/** Deletes old finished captures of all projects, once an hour. */
import type { Logger } from 'pino';
import type { CaptureLibrary } from './capture-library.js';
import type { Projects } from '../../lab/projects/projects.js';

const DAY_MS = 86_400_000;
const ROUND_MS = 3_600_000;

export class CaptureRetention {
  readonly #captures: CaptureLibrary;
  readonly #projects: Pick<Projects, 'all'>;
  readonly #days: () => number;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** With 0 days, everything is kept. */
  constructor(captures: CaptureLibrary, projects: Pick<Projects, 'all'>, days: () => number, log: Logger) {
    this.#captures = captures;
    this.#projects = projects;
    this.#days = days;
    this.#log = log;
  }

  /** Call when captures have gone on in their files, which may be old. */
  start(): void {
    if (this.#isStopped) return;
    const round = (): void => {
      this.clean().catch((error: unknown) => {
        this.#log.error({ err: error }, 'old captures could not be deleted');
      });
    };
    this.#timer = setInterval(round, ROUND_MS).unref();
    round();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  /** One round over all projects. It goes on after a project whose captures cannot be read. */
  async clean(): Promise<void> {
    const olderThanMs = this.#days() * DAY_MS;
    if (olderThanMs === 0) return;
    for (const project of [...this.#projects.all.values()]) {
      try {
        const gone = await this.#captures.prune(project, { olderThanMs });
        if (gone.length > 0)
          this.#log.info({ project: project.id, captures: gone.length }, 'old captures were deleted');
      } catch (error) {
        this.#log.error(
          { err: error, project: project.id },
          'the captures of a project could not be looked at',
        );
      }
    }
  }
}
