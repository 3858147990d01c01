/**
 * Jobs are long work on projects. The jobs of one project run one after the other; clients see their progress, and can
 * cancel a job until it takes effect.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { JobProgress } from './content/job-progress.js';
import { EndedJobs } from './ended-jobs.js';
import type { EndedView, JobKind, JobView } from './job-views.js';
import { INTERNAL_ERROR, isRefusal, messageOf, Refusal, refusals } from '../base/errors/errors.js';
import { Histogram } from '../base/metrics/histogram.js';
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { Intake } from '../base/intake.js';
import type { Claims } from '../lab/quotas/quotas.js';
import type { Channel } from '../base/streams/channel.js';

type JobOutcome = 'done' | 'failed' | 'cancelled';

export interface Job {
  readonly id: string;
  readonly progress: JobProgress;
}

/** A job that has begun, and the result that it will have. */
export interface BegunJob<Result> {
  readonly id: string;
  readonly result: Promise<Result>;
}

/** The request that began a job: its answer names the job. */
export interface JobAsker {
  jobId: string | undefined;
}

/** The project that a job belongs to. */
export interface JobOwner {
  readonly id: string;
  /** Lanes take turns; without this, every project is a lane of its own. */
  readonly lane?: string;
  /** Notifies the listeners of the project, if it has any. */
  tell?(action: string, text: string): void;
  /** Keeps the project from closing by itself, until the returned function is called. */
  hold?(): () => void;
}

interface Entry extends Job {
  readonly owner: JobOwner;
  readonly kind: JobKind;
  readonly subject: string;
  readonly startedAt: Date;
  state: JobView['state'];
}

const MOST_WAITING = 64;
/** More jobs at once would slow each other down, and leave no thread for short tasks. */
const MOST_RUNNING = 2;
const TELL_MS = 500;
/** In seconds. */
const BOUNDS = [0.1, 0.5, 1, 5, 10, 60, 600, 3600];

interface JobsOptions {
  readonly intake: Pick<Intake, 'check'>;
  readonly log: Logger;
  readonly quotas: Claims;
}

export class Jobs {
  readonly #announcements: Channel;
  readonly #intake: Pick<Intake, 'check'>;
  readonly #log: Logger;
  readonly #quotas: Claims;
  readonly #entries = new Map<string, Entry>();
  /** The end of the last job of each project. */
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #ended = new EndedJobs();
  /** The ends of work that consists of jobs. */
  readonly #coordinated = new Map<Entry, Promise<unknown>>();
  /** The jobs that wait for a turn, by lane; the next lane comes first. */
  readonly #turns = new Map<string, (() => void)[]>();
  /** By the kind of job, and how it ended. */
  readonly #seconds = new Map<JobKind, Map<JobOutcome, Histogram>>();
  #running = 0;
  #clock: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor(announcements: Channel, { intake, log, quotas }: JobsOptions) {
    this.#quotas = quotas;
    this.#announcements = announcements;
    this.#intake = intake;
    this.#log = log;
  }

  /** The number of jobs that run or wait. */
  get size(): number {
    return this.#entries.size;
  }

  of(projectId: string): JobView[] {
    return [...this.#entries.values()].filter(({ owner }) => owner.id === projectId).map(viewOf);
  }

  /** The jobs of all projects. */
  list(): JobView[] {
    return [...this.#entries.values()].map(viewOf);
  }

  /** The jobs that have ended last, of all projects, the newest first. */
  ended(): EndedView[] {
    return this.#ended.list();
  }

  cancel(projectId: string, jobId: string): void {
    const entry = this.#entries.get(jobId);
    if (entry?.owner.id !== projectId) throw refusals.jobUnknown(jobId);
    entry.progress.cancel();
  }

  /** Cancels all jobs of a project, and waits until they have ended. */
  async cancelAll(projectId: string): Promise<void> {
    for (const { owner, progress } of this.#entries.values()) if (owner.id === projectId) progress.cancel();
    const coordinated = [...this.#coordinated].filter(([{ owner }]) => owner.id === projectId);
    await Promise.all([this.#last.get(projectId), ...coordinated.map(([, ended]) => ended)]);
  }

  /** One job of a project, also when it has ended, and then with the result that was kept. Refuses (404) an unknown one. */
  find(projectId: string, jobId: string): JobView | (EndedView & { readonly result?: unknown }) {
    const entry = this.#entries.get(jobId);
    if (entry?.owner.id === projectId) return viewOf(entry);
    const ended = this.#ended.find(projectId, jobId);
    if (ended === undefined) throw refusals.jobUnknown(jobId);
    return ended;
  }

  /** Runs `work` once the earlier jobs of this project have ended. */
  async run<Result>(
    owner: JobOwner,
    kind: JobKind,
    subject: string,
    work: (job: Job) => Promise<Result>,
    asker?: JobAsker,
  ): Promise<Result> {
    const { id, result } = this.begin(owner, kind, subject, work);
    if (asker !== undefined) asker.jobId = id;
    return result;
  }

  /** The same for work that is answered before it has ended: its id is known at once. */
  begin<Result>(
    owner: JobOwner,
    kind: JobKind,
    subject: string,
    work: (job: Job) => Promise<Result>,
  ): BegunJob<Result> {
    this.#check(owner);
    const giveBack = this.#quotas.claim(owner.id, { jobs: 1 });
    const { entry, leave } = this.#enter(owner, kind, subject);
    const before = this.#last.get(owner.id);
    const running = this.#perform(entry, before, work).finally(() => {
      leave();
      giveBack();
      if (this.#last.get(owner.id) === ended) this.#last.delete(owner.id);
    });
    const ended = settled(running);
    this.#last.set(owner.id, ended);
    return { id: entry.id, result: running };
  }

  /** Keeps what a job comes to, as `shown`, for those who ask for it by its id. */
  keep<Result>({ id, result }: BegunJob<Result>, shown: (result: Result) => string): void {
    result.then(
      (found) => {
        this.#ended.keep(id, shown(found));
      },
      (error: unknown) => {
        // The view of the job tells why, but a fault of this server belongs into the log, too.
        if (!(error instanceof Refusal)) this.#log.error({ err: error, job: id }, 'a job failed');
      },
    );
  }

  /**
   * Begins work that consists of jobs, of this project or others: it takes no turn itself, and waits for no other job.
   * Refuses (409) a second one of the project.
   */
  coordinate(
    owner: JobOwner,
    kind: JobKind,
    subject: string,
    work: (job: Job) => Promise<void>,
  ): BegunJob<void> {
    this.#check(owner);
    if ([...this.#coordinated.keys()].some((other) => other.owner.id === owner.id))
      throw refusals.dealUnderWay();
    const { entry, leave } = this.#enter(owner, kind, subject);
    const running = this.#tellWork(entry, work).finally(() => {
      leave();
      this.#coordinated.delete(entry);
    });
    this.#coordinated.set(entry, settled(running));
    return { id: entry.id, result: running };
  }

  /** Runs a part of the job of another owner, while no job of this project runs. */
  between<Result>(projectId: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(projectId);
    const running = (async () => {
      await before;
      return work();
    })();
    const ended = settled(running);
    this.#last.set(projectId, ended);
    void ended.then(() => {
      if (this.#last.get(projectId) === ended) this.#last.delete(projectId);
    });
    return running;
  }

  /** Cancels all jobs, and waits until they have ended. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const { progress } of this.#entries.values()) progress.cancel();
    await Promise.all([...this.#last.values(), ...this.#coordinated.values()]);
  }

  readonly writeMetrics = (page: MetricPage): void => {
    const running = [...this.#entries.values()].filter(({ state }) => state === 'running').length;
    page.gauge('jobs', 'Snapshots, restores, exports, imports and copies that are under way');
    page.sample(running, { state: 'running' });
    page.sample(this.#entries.size - running, { state: 'waiting' });
    page.histogram('job_seconds', 'Time that a job ran');
    for (const [kind, ends] of this.#seconds)
      for (const [outcome, seconds] of ends) page.buckets(seconds, { kind, outcome });
  };

  #check(owner: JobOwner): void {
    if (this.#isClosing) throw refusals.stopping();
    this.#intake.check();
    if (this.of(owner.id).length >= MOST_WAITING) throw refusals.tooBusy();
  }

  #enter(
    owner: JobOwner,
    kind: JobKind,
    subject: string,
  ): { readonly entry: Entry; readonly leave: () => void } {
    const id = randomUUID();
    const progress = new JobProgress();
    const entry: Entry = { id, owner, kind, subject, progress, startedAt: new Date(), state: 'waiting' };
    this.#entries.set(id, entry);
    const release = owner.hold?.();
    const leave = (): void => {
      release?.();
      this.#entries.delete(id);
      if (this.#entries.size > 0) return;
      clearInterval(this.#clock);
      this.#clock = undefined;
    };
    return { entry, leave };
  }

  async #perform<Result>(
    entry: Entry,
    before: Promise<unknown> | undefined,
    work: (job: Job) => Promise<Result>,
  ): Promise<Result> {
    await before;
    await this.#turn(entry.owner.lane ?? entry.owner.id);
    try {
      return await this.#tellWork(entry, work);
    } finally {
      this.#nextTurn();
    }
  }

  async #tellWork<Result>(entry: Entry, work: (job: Job) => Promise<Result>): Promise<Result> {
    const begun = performance.now();
    let outcome: JobOutcome = 'failed';
    try {
      // Throws if the job was cancelled while it waited.
      entry.progress.advance(0);
      entry.state = 'running';
      this.#tell('job.started', entry);
      this.#log.debug({ project: entry.owner.id, kind: entry.kind, subject: entry.subject }, 'a job began');
      this.#clock ??= this.#newClock();
      const result = await work(entry);
      this.#end(entry, { outcome: 'done' });
      outcome = 'done';
      return result;
    } catch (error) {
      if (isRefusal(error, 'job_cancelled')) outcome = 'cancelled';
      const { status, code } = error instanceof Refusal ? error : INTERNAL_ERROR;
      this.#end(entry, { outcome: 'failed', reason: messageOf(error), code, status });
      throw error;
    } finally {
      this.#secondsOf(entry.kind, outcome).observe((performance.now() - begun) / 1000);
      this.#log.debug({ project: entry.owner.id, kind: entry.kind, subject: entry.subject }, 'a job ended');
    }
  }

  #end(entry: Entry, end: Pick<EndedView, 'outcome' | 'reason' | 'code' | 'status'>): void {
    const ended_at = new Date().toISOString();
    this.#ended.add({ ...viewOf(entry), ...end, ended_at });
    this.#tell('job.ended', entry, { ...end, ended_at });
  }

  /** Waits for a turn: a job that ends gives its turn to the next one. */
  async #turn(lane: string): Promise<void> {
    if (this.#running < MOST_RUNNING) {
      this.#running++;
      return;
    }
    await new Promise<void>((resolve) => {
      const waiting = this.#turns.get(lane);
      if (waiting === undefined) this.#turns.set(lane, [resolve]);
      else waiting.push(resolve);
    });
  }

  /** Takes one job of each lane in turn, so that a job waits for at most one job of every other lane. */
  #nextTurn(): void {
    const [first] = this.#turns;
    if (first === undefined) {
      this.#running--;
      return;
    }
    const [lane, waiting] = first;
    const next = waiting.shift();
    this.#turns.delete(lane);
    if (waiting.length > 0) this.#turns.set(lane, waiting);
    next?.();
  }

  #secondsOf(kind: JobKind, outcome: JobOutcome): Histogram {
    const ends = this.#seconds.get(kind) ?? new Map<JobOutcome, Histogram>();
    const seconds = ends.get(outcome) ?? new Histogram(BOUNDS);
    this.#seconds.set(kind, ends.set(outcome, seconds));
    return seconds;
  }

  #newClock(): NodeJS.Timeout {
    const clock = setInterval(() => {
      for (const entry of this.#entries.values()) {
        if (entry.state === 'running') this.#tell('job.progress', entry);
      }
    }, TELL_MS);
    return clock.unref();
  }

  #tell(action: string, entry: Entry, more: object = {}): void {
    const text = JSON.stringify({ ...viewOf(entry), ...more });
    entry.owner.tell?.(action, text);
    this.#announcements.emit(action, text, entry.owner.id);
  }
}

function settled(work: Promise<unknown>): Promise<void> {
  return work.then(
    () => undefined,
    () => undefined,
  );
}

function viewOf({ id, owner, kind, subject, state, progress, startedAt }: Entry): JobView {
  return {
    job_id: id,
    project_id: owner.id,
    kind,
    subject,
    state,
    done: progress.done,
    total: progress.total,
    started_at: startedAt.toISOString(),
  };
}
