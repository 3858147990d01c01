/** One thing after the other, first come, first served. */
import { refusals } from '../base/errors/errors.js';

const MOST_WAITING = 1000;

export class Turns {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Runs `work` when everything before it is done, well or not. */
  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#waiting >= MOST_WAITING) throw refusals.tooBusy();
    return this.takeSurely(work);
  }

  /** However many wait. */
  takeSurely<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#waiting++;
    const result = this.#last.then(work).finally(() => {
      this.#waiting--;
    });
    this.#last = result.catch(() => undefined);
    return result;
  }
}
