/** Who may do something to an upload: one request after the other, and whoever comes ends the one that is sending. */
import { refusals } from '../../base/errors/errors.js';

const MOST_WAITING = 100;

export class UploadTurns {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #newest = new AbortController();

  /** Runs `work` when everything before it is done. The signal tells it that another request has come. */
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
