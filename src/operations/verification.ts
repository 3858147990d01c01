/** A check that is a job. What it found is known until the next one begins, or the server ends. */
import { messageOf } from '../base/errors/errors.js';
import type { JobKind } from '../snapshots/job-views.js';
import type { Job, JobOwner, Jobs } from '../snapshots/jobs.js';

interface VerificationView<Found> {
  readonly job_id: string;
  readonly state: 'waiting' | 'running' | 'done' | 'failed';
  /** In bytes; the total is 0 until it is known. */
  readonly done: number;
  readonly total: number;
  readonly ended_at: string | null;
  /** Why it failed. */
  readonly reason: string | null;
  readonly found: Found | null;
}

interface VerificationOptions<Found> {
  readonly jobs: Pick<Jobs, 'begin'>;
  readonly owner: JobOwner;
  readonly kind: JobKind;
  readonly subject: string;
  readonly check: (job: Job) => Promise<Found>;
}

type Ended<Found> = Pick<VerificationView<Found>, 'state' | 'ended_at' | 'reason' | 'found'>;

const NOT_ENDED = { ended_at: null, reason: null, found: null };

export class Verification<Found> {
  readonly #options: VerificationOptions<Found>;
  #jobId = '';
  /** Undefined while the job waits. */
  #progress: Job['progress'] | undefined;
  #ended: Ended<Found> | undefined;

  constructor(options: VerificationOptions<Found>) {
    this.#options = options;
  }

  /** Undefined before the first one. */
  get view(): VerificationView<Found> | undefined {
    if (this.#jobId === '') return undefined;
    const { done = 0, total = 0 } = this.#progress ?? {};
    const state = this.#progress === undefined ? 'waiting' : 'running';
    return { job_id: this.#jobId, state, done, total, ...NOT_ENDED, ...this.#ended };
  }

  get isUnderWay(): boolean {
    return this.#jobId !== '' && this.#ended === undefined;
  }

  /** Returns the id of the job: of that under way, if there is one. */
  begin(): string {
    if (this.isUnderWay) return this.#jobId;
    const { jobs, owner, kind, subject, check } = this.#options;
    const { id, result } = jobs.begin(owner, kind, subject, (job) => {
      this.#progress = job.progress;
      return check(job);
    });
    this.#jobId = id;
    this.#progress = undefined;
    this.#ended = undefined;
    const end = (ended: Pick<Ended<Found>, 'state' | 'reason' | 'found'>): void => {
      this.#ended = { ...ended, ended_at: new Date().toISOString() };
    };
    result.then(
      (found) => {
        end({ state: 'done', reason: null, found });
      },
      (error: unknown) => {
        end({ state: 'failed', reason: messageOf(error), found: null });
      },
    );
    return id;
  }
}
