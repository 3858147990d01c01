/**
 * Closes a project some time after its last listener has gone, but never while something of it is in use. A project
 * that never had a listener stays open. The time is enough for a client that loads its page again or connects again.
 */
export const AUTO_CLOSE_MS = 30_000;

export class AutoClose {
  readonly #delayMs: number;
  readonly #close: () => void;
  #listeners = 0;
  #holds = 0;
  #isDue = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(delayMs: number, close: () => void) {
    this.#delayMs = delayMs;
    this.#close = close;
  }

  /** Counts a listener in; returns what counts it out, once. */
  attend(): () => void {
    this.#listeners++;
    this.cancel();
    let isThere = true;
    return () => {
      if (!isThere) return;
      isThere = false;
      this.#listeners--;
      if (this.#listeners > 0) return;
      this.#isDue = true;
      this.#restart();
    };
  }

  hold(): () => void {
    this.#holds++;
    clearTimeout(this.#timer);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds--;
      this.#restart();
    };
  }

  get isHeld(): boolean {
    return this.#holds > 0;
  }

  cancel(): void {
    this.#isDue = false;
    clearTimeout(this.#timer);
  }

  #restart(): void {
    clearTimeout(this.#timer);
    if (!this.#isDue || this.#holds > 0) return;
    this.#timer = setTimeout(() => {
      this.#isDue = false;
      this.#close();
    }, this.#delayMs);
    this.#timer.unref();
  }
}
