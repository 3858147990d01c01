/**
 * Ends labs whose time is over. Labs are looked at in turn, so many in a look. A warning comes first, and the end only when the
 * clock on the wall is past it and the server has run for the whole notice since the warning by the clock that nobody sets: a
 * clock that is put forward ends nothing without a warning in time. Nothing is ever deleted.
 */
import type { Logger } from 'pino';
import { messageOf } from '../../base/errors/errors.js';
import type { Intake } from '../../base/intake.js';
import type { Remember } from '../../lab/history-event.js';
import type { Project } from '../../lab/projects/project.js';
import type { ProjectUses } from '../../lab/projects/project-uses.js';
import type { Jobs } from '../../snapshots/jobs.js';
import type { Snapshots } from '../../snapshots/snapshots.js';
import { hasRunning } from '../../snapshots/stopped-nodes.js';
import { idleNoticeSeconds } from './end-rules.js';
import type { EndTimes } from './end-times.js';

/** The parts of a project that its end needs. */
type EndingProject = Pick<Project, 'close' | 'id' | 'isOpen' | 'name' | 'topology' | 'warn'>;

interface EndWatchOptions<Lab extends EndingProject> {
  readonly ends: EndTimes;
  readonly uses: Pick<ProjectUses, 'idleMs'>;
  readonly projects: { readonly all: ReadonlyMap<string, Lab> };
  readonly snapshots: { create(lab: Lab, ...rest: Tail<Parameters<Snapshots['create']>>): Promise<unknown> };
  readonly jobs: Pick<Jobs, 'of'>;
  readonly intake: Pick<Intake, 'isOpen'>;
  readonly remember: Remember;
  readonly log: Logger;
  /** The time of day. */
  readonly now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly clock: () => number;
}

type Tail<List extends readonly unknown[]> = List extends readonly [unknown, ...infer Rest] ? Rest : never;

type Reason = 'time' | 'idle';

interface Due {
  readonly reason: Reason;
  /** Changes when another end is set. */
  readonly mark: number;
  readonly inMs: number;
  readonly noticeMs: number;
}

interface Warned {
  readonly mark: number;
  /** By the clock that nobody sets. */
  readonly at: number;
}

const LOOK_MS = 1000;
const LABS_A_LOOK = 50;
/** More ends at once would be slower each. */
const MOST_ENDING = 2;
const MINUTE_MS = 60_000;

export class EndWatch<Lab extends EndingProject = Project> {
  readonly #options: EndWatchOptions<Lab>;
  readonly #warned = new Map<string, Map<Reason, Warned>>();
  readonly #ending = new Map<string, Promise<void>>();
  /** The labs that are still to be looked at in this round. */
  #round: string[] = [];
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EndWatchOptions<Lab>) {
    this.#options = options;
  }

  /** Begins to look when the labs are `opened` that should be. */
  start(opened: Promise<void>): void {
    this.#looking = opened;
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.look());
    }, LOOK_MS).unref();
  }

  /** Waits for the ends that have begun. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.all(this.#ending.values());
  }

  /** Whether the lab was warned of its end. */
  isWarned(projectId: string): boolean {
    return this.#warned.has(projectId);
  }

  /** Looks at the next labs. Never rejects. */
  async look(): Promise<void> {
    const { projects, jobs, log } = this.#options;
    if (this.#round.length === 0) {
      this.#round = [...projects.all.keys()];
      for (const id of this.#warned.keys()) if (!projects.all.has(id)) this.#warned.delete(id);
    }
    for (const id of this.#round.splice(0, LABS_A_LOOK)) {
      const lab = projects.all.get(id);
      // A job may have opened the lab for itself, and comes to its end first.
      if (lab === undefined || this.#ending.has(id) || jobs.of(id).length > 0) continue;
      try {
        await this.#lookAt(lab);
      } catch (error) {
        log.warn({ err: error, project: id }, 'the end of a lab could not be looked at');
      }
    }
  }

  async #lookAt(lab: Lab): Promise<void> {
    const { ends, clock } = this.#options;
    if (!lab.isOpen) {
      this.#warned.delete(lab.id);
      await ends.closed(lab.id);
      return;
    }
    await ends.begin(lab.id);
    const known = this.#warned.get(lab.id) ?? new Map<Reason, Warned>();
    const near = this.#dues(lab).filter(({ inMs, noticeMs }) => inMs <= noticeMs);
    for (const reason of known.keys()) if (!near.some((due) => due.reason === reason)) known.delete(reason);
    for (const due of near) {
      if (known.get(due.reason)?.mark === due.mark) continue;
      known.set(due.reason, { mark: due.mark, at: clock() });
      this.#warn(lab, due);
    }
    if (known.size > 0) this.#warned.set(lab.id, known);
    else this.#warned.delete(lab.id);
    const over = this.#over(lab);
    // While the server drains, whoever works should be able to go on.
    const mayEnd = this.#options.intake.isOpen && this.#ending.size < MOST_ENDING;
    if (over !== undefined && mayEnd) this.#begin(lab, over);
  }

  /** The end that has come; undefined when none has. */
  #over(lab: Lab): Due | undefined {
    const warned = this.#warned.get(lab.id);
    return this.#dues(lab).find((due) => {
      const { mark, at } = warned?.get(due.reason) ?? { mark: NaN, at: 0 };
      return due.inMs <= 0 && mark === due.mark && this.#options.clock() - at >= due.noticeMs;
    });
  }

  #dues({ id }: Lab): Due[] {
    const { ends, uses, now } = this.#options;
    const { endsAt, noticeSeconds = 0, idleAfter } = ends.of(id);
    const dues: Due[] = [];
    if (endsAt != null)
      dues.push({ reason: 'time', mark: endsAt, inMs: endsAt - now(), noticeMs: noticeSeconds * 1000 });
    if (idleAfter != null) {
      const noticeMs = idleNoticeSeconds(idleAfter) * 1000;
      dues.push({ reason: 'idle', mark: idleAfter, inMs: idleAfter * 1000 - uses.idleMs(id), noticeMs });
    }
    return dues;
  }

  #warn(lab: Lab, { reason, inMs, noticeMs }: Due): void {
    const { remember, log } = this.#options;
    const minutes = Math.ceil(Math.max(inMs, noticeMs) / MINUTE_MS);
    const when = `in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
    const why =
      reason === 'time'
        ? `The lab ends ${when}, unless it gets another end`
        : `Nobody uses the lab: it ends ${when}, unless somebody does`;
    const message = `${why}. Its nodes are saved and stopped then, and nothing is deleted`;
    log.warn({ project: lab.id, reason }, 'a lab ends soon');
    remember(lab.id, { kind: 'lab_end_near', message });
    lab.warn(message);
  }

  #begin(lab: Lab, due: Due): void {
    const ending = this.#end(lab, due)
      .catch((error: unknown) => {
        this.#options.log.error(
          { err: error, project: lab.id },
          'a lab whose time is over could not be ended',
        );
      })
      .finally(() => this.#ending.delete(lab.id));
    this.#ending.set(lab.id, ending);
  }

  async #end(lab: Lab, { reason }: Due): Promise<void> {
    const { ends, intake, remember, log } = this.#options;
    if (ends.of(lab.id).snapshot) await this.#keep(lab);
    // Somebody may have come while the snapshot was made.
    if (!lab.isOpen || !intake.isOpen || this.#over(lab) === undefined) return;
    const why = reason === 'time' ? 'its time was over' : 'nobody used it';
    const message = `The lab was ended because ${why}: its nodes were saved and stopped, and nothing was deleted`;
    await lab.topology.run.putAway();
    lab.warn(message);
    await lab.close();
    await ends.closed(lab.id);
    this.#warned.delete(lab.id);
    remember(lab.id, { kind: 'lab_ended', message });
    log.info({ project: lab.id, reason }, 'a lab whose time was over was ended');
  }

  /** A lab ends also without its snapshot, because its files stay. */
  async #keep(lab: Lab): Promise<void> {
    const { snapshots, now } = this.#options;
    const name = `End of ${new Date(now()).toISOString().slice(0, 19)}`;
    try {
      await snapshots.create(lab, name, undefined, hasRunning(lab) ? { isLong: true } : undefined);
    } catch (error) {
      lab.warn(`There is no snapshot of the end of the lab: ${messageOf(error)}`);
    }
  }
}
