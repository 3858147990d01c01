/** Counts and times the commits of a store. */
import { Refusal } from '../errors/errors.js';
import { Histogram } from '../metrics/histogram.js';
import type { MetricPage } from '../metrics/metric-page.js';
import type { Change } from './store.js';

/** The reason of a failure that is no refusal. */
const FAULT = 'fault';
/** Numbers of requests. */
const SHARED = [1, 2, 4, 8, 16, 32, 64, 128];

/** Changes that go along with a commit of others. */
export interface CompanionPart {
  readonly changes: readonly Change[];
  /** Called with the outcome of the commit, before whoever asked for it goes on. */
  ended(isStored: boolean): void;
}

/** Changes for the next commit, whichever it is. */
export interface Companion {
  readonly part: () => CompanionPart | undefined;
}

export class CommitMetrics {
  readonly #seconds = new Histogram();
  readonly #requests = new Histogram(SHARED);
  /** By the code of the refusal. Usual ones are there from the start, so that their first rise shows. */
  readonly #failures: Map<string, number>;

  constructor(...usual: readonly string[]) {
    this.#failures = new Map([...usual, FAULT].map((reason) => [reason, 0]));
  }

  shared(requests: number): void {
    this.#requests.observe(requests);
  }

  /** Runs a commit with what goes along with it. */
  async timed(
    companion: Companion | undefined,
    commit: (along: readonly Change[]) => Promise<void>,
  ): Promise<void> {
    const begun = performance.now();
    const part = companion?.part();
    try {
      await commit(part?.changes ?? []);
      part?.ended(true);
    } catch (error) {
      part?.ended(false);
      const reason = error instanceof Refusal ? error.code : FAULT;
      this.#failures.set(reason, (this.#failures.get(reason) ?? 0) + 1);
      throw error;
    } finally {
      this.#seconds.observe((performance.now() - begun) / 1000);
    }
  }

  readonly write = (page: MetricPage): void => {
    page.histogram('commit_seconds', 'Time from the request of a commit to its outcome');
    page.buckets(this.#seconds);
    page.histogram('commit_requests', 'Requests that shared a commit');
    page.buckets(this.#requests);
    page.counter('commit_failures', 'Commits that failed, by the code of the refusal');
    for (const [reason, count] of this.#failures) page.sample(count, { reason });
  };
}
