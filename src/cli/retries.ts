/** Limits the tries of a transfer whose connection breaks. A try that gets further starts the count again. */
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

  /** Notes that the transfer has got to this position. */
  reached(position: number): void {
    if (position <= this.#furthest) return;
    this.#furthest = position;
    this.#failed = 0;
  }

  /** Waits until the next try. Throws CommandError after too many tries without progress. */
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
