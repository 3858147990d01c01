/** Whether the store takes commits, as a small one of its own shows. However often it is asked, it commits rarely. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal, messageOf } from '../base/errors/errors.js';
import type { Store } from '../base/store/store.js';

const PROBE: readonly string[] = ['probe'];
/** It takes as much room as an ordinary change. */
const VALUE = 'x'.repeat(1024);
const SHORTEST_INTERVAL_MS = 5000;
/** A commit that has not ended after so long stops all new work. */
const LIMIT_MS = 5000;

export class StoreProbe {
  readonly #store: Store;
  #begunAt = -Infinity;
  #commit: Promise<void> | undefined;
  /** The outcome of the last probe that has ended. */
  #problem: string | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The reason why nothing can be stored. */
  async problem(): Promise<string | undefined> {
    if (await this.comesRound()) return this.#problem;
    return `state: no commit for ${Math.round((performance.now() - this.#begunAt) / 1000)} s`;
  }

  /** Whether commits come to an end, be it a failure. When they do not, the state thread or its disk stands still. */
  async comesRound(): Promise<boolean> {
    const now = performance.now();
    if (this.#commit === undefined && now - this.#begunAt >= SHORTEST_INTERVAL_MS) this.#begin(now);
    if (this.#commit === undefined) return true;
    const restMs = Math.max(0, this.#begunAt + LIMIT_MS - now);
    const late = sleep(restMs, 'late' as const, { ref: false });
    return (await Promise.race([this.#commit, late])) !== 'late';
  }

  #begin(now: number): void {
    this.#begunAt = now;
    this.#commit = this.#store
      .commit([{ put: PROBE, value: VALUE }])
      .then(
        () => undefined,
        (error: unknown) =>
          isRefusal(error, 'disk_full') ? 'disk state: full' : `state: ${messageOf(error)}`,
      )
      .then((problem) => {
        this.#problem = problem;
        this.#commit = undefined;
      });
  }
}
