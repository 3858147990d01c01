/**
 * Looks for all viewers that wait whether there is something for them, every 10 ms while there are any. Many that
 * are ready at once are woken in slices, so that requests are answered in between.
 */

const TICK_MS = 10;
const SLICE_MS = 1;

export interface Waiting {
  readonly isReady: boolean;
  /** Called once, when it does not wait any more. */
  wake(): void;
}

export class ViewerClock {
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  wait(viewer: Waiting): void {
    this.#waiting.add(viewer);
    this.#timer ??= setInterval(() => {
      if (!this.#isLooking) this.#look([...this.#waiting], 0);
    }, TICK_MS).unref();
  }

  forget(viewer: Waiting): void {
    this.#waiting.delete(viewer);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(viewers: readonly Waiting[], from: number): void {
    const started = performance.now();
    let next = from;
    this.#isLooking = false;
    for (const viewer of viewers.slice(from)) {
      if (performance.now() - started >= SLICE_MS) {
        this.#isLooking = true;
        setImmediate(() => {
          this.#look(viewers, next);
        });
        return;
      }
      next++;
      if (!this.#waiting.has(viewer) || !viewer.isReady) continue;
      this.forget(viewer);
      viewer.wake();
    }
  }
}
