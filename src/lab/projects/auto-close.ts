/**
 * Closes a project some time after its last listener has gone, but never while something of it is in use. A project
 * that never had a listener stays open.
 */
export const AUTO_CLOSE_MS = 5000;

export class AutoClose {
  readonly #delayMs: number;
  readonly #close: () => void;
  #holds = 0;
  #isDue = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(delayMs: number, close: () => void) {
    this.#delayMs = delayMs;
    this.#close = close;
  }

  listenerCame(): void {
    this.cancel();
  }

  lastListenerLeft(): void {
    this.#isDue = true;
    this.#restart();
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
