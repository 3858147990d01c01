/** How often a transfer whose connection breaks is gone on with: without end, as long as each try gets further. */
import { setTimeout as pause } from 'node:timers/promises';
import { CommandError } from './command-error.js';
import type { Unreachable } from './server.js';

const TRIES = 10;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

export class Retries {
  readonly #firstMs: number;
  #failed = 0;
  #furthest = 0;

  constructor(firstMs = FIRST_PAUSE_MS) {
    this.#firstMs = firstMs;
  }

  /** So much is safe now. */
  reached(position: number): void {
    if (position <= this.#furthest) return;
    this.#furthest = position;
    this.#failed = 0;
  }

  /** Returns when it is time to try once more, or throws CommandError: nothing has got further. */
  async wait(failure: Unreachable, signal: AbortSignal): Promise<void> {
    if (this.#failed === TRIES) {
      throw new CommandError(
        `gave up after ${TRIES} tries without progress (${failure.reason}): the same command goes on from here`,
        { cause: failure },
      );
    }
    const pauseMs = Math.min(this.#firstMs * 2 ** this.#failed, LONGEST_PAUSE_MS);
    this.#failed += 1;
    await pause(pauseMs, undefined, { signal });
  }
}
