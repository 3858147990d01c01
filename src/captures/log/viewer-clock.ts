/**
 * Checks every 10 ms, while viewers wait, whether their logs have grown, and wakes those for which there is more. Being
 * woken must cost little: a stream then waits for its turn to send.
 */

const TICK_MS = 10;

export interface Waiting {
  readonly isReady: boolean;
  /** Called once; the viewer does not wait any more then. */
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
