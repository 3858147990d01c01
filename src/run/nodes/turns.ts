/** Runs work one after the other, in the order of the calls. */
import { refusals } from '../../base/errors/errors.js';

const MOST_WAITING = 1000;

export class Turns {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Runs `work` when all work before it has settled. Refuses (503) when too much waits. */
  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#waiting >= MOST_WAITING) throw refusals.tooBusy();
    return this.takeSurely(work);
  }

  /** Like `take`, however much waits. */
  takeSurely<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#waiting++;
    const result = this.#last.then(work).finally(() => {
      this.#waiting--;
    });
    this.#last = result.catch(() => undefined);
    return result;
  }
}
