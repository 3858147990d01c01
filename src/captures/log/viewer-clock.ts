/**
 * Looks for all viewers that wait whether there is something for them, every 10 ms while there are any. To be woken
 * must cost little: streams take turns to send.
 */

const TICK_MS = 10;

export interface Waiting {
  readonly isReady: boolean;
  /** Called once, when it does not wait any more. */
  wake(): void;
}

export class ViewerClock {
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout | undefined;

  wait(viewer: Waiting): void {
    this.#waiting.add(viewer);
    this.#timer ??= setInterval(() => {
      this.#look();
    }, TICK_MS).unref();
  }

  forget(viewer: Waiting): void {
    this.#waiting.delete(viewer);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    for (const viewer of this.#waiting) {
      if (!viewer.isReady) continue;
      this.forget(viewer);
      viewer.wake();
    }
  }
}
