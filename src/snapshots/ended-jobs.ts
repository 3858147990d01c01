/**
 * The jobs that have ended last, with the results of those whose requests were answered before their end. Results are
 * kept as JSON within a bound: the oldest go first.
 */
import type { EndedView } from './job-views.js';

/** So many are known until the server ends. */
const MOST = 200;
const LARGEST_RESULT = 256 * 1024;
const MOST_OF_RESULTS = 8 * 1024 * 1024;

export class EndedJobs {
  /** The newest last. */
  readonly #views: EndedView[] = [];
  /** By the id of the job, the oldest first. */
  readonly #results = new Map<string, string>();
  #size = 0;

  add(view: EndedView): void {
    this.#views.push(view);
    this.#views.splice(0, this.#views.length - MOST);
  }

  /** A result that is too large is not kept; the routes that have results bound them. */
  keep(jobId: string, result: string): void {
    if (result.length > LARGEST_RESULT) return;
    this.#results.set(jobId, result);
    this.#size += result.length;
    for (const [oldest, { length }] of this.#results) {
      if (this.#size <= MOST_OF_RESULTS) break;
      this.#results.delete(oldest);
      this.#size -= length;
    }
  }

  /** The newest first. */
  list(): EndedView[] {
    return [...this.#views].reverse();
  }

  find(projectId: string, jobId: string): (EndedView & { readonly result?: unknown }) | undefined {
    const view = this.#views.find((one) => one.job_id === jobId && one.project_id === projectId);
    const text = this.#results.get(jobId);
    return view === undefined || text === undefined ? view : { ...view, result: JSON.parse(text) };
  }
}
