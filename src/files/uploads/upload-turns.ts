/** Lets one request after the other work on an upload. A new request ends the one that is sending. */
import { refusals } from '../../base/errors/errors.js';

const MOST_WAITING = 100;

export class UploadTurns {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #newest = new AbortController();

  /** Runs `work` after everything before it. The signal is aborted when another request comes. */
  take<Result>(work: (overtaken: AbortSignal) => Promise<Result>): Promise<Result> {
    if (this.#waiting >= MOST_WAITING) return Promise.reject(refusals.tooBusy());
    this.#newest.abort(refusals.uploadTakenOver());
    const own = new AbortController();
    this.#newest = own;
    this.#waiting++;
    const result = this.#last
      .then(() => work(own.signal))
      .finally(() => {
        this.#waiting--;
      });
    this.#last = result.catch(() => undefined);
    return result;
  }
}
