/**
 * Limits how much work of many owners runs at once. The work of one owner is done in order, one piece at a time, and
 * the owners take turns: an owner waits for at most one piece of each other owner, however much work those have.
 */
import { refusals } from '../errors/errors.js';

export interface FairTurnsOptions {
  readonly atOnce: number;
  /** When so much waits, more is refused (503). */
  readonly mostWaiting: number;
  readonly mostWaitingOfOne: number;
}

interface Turn {
  readonly begin: () => void;
  readonly refuse: (error: Error) => void;
}

export class FairTurns {
  readonly #options: FairTurnsOptions;
  /** Waiting work by owner; the owner whose turn is next comes first. */
  readonly #waiting = new Map<string, Turn[]>();
  readonly #running = new Set<string>();
  #waitingCount = 0;
  #isClosed = false;

  constructor(options: FairTurnsOptions) {
    this.#options = options;
  }

  async run<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    await this.#turn(owner);
    try {
      return await work();
    } finally {
      this.#running.delete(owner);
      this.#startNext();
    }
  }

  /** Refuses (503) waiting work and all work that comes. Running work goes on. */
  close(): void {
    this.#isClosed = true;
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#waitingCount = 0;
    for (const { refuse } of waiting) refuse(refusals.stopping());
  }

  #turn(owner: string): Promise<void> {
    const own = this.#waiting.get(owner) ?? [];
    const { mostWaiting, mostWaitingOfOne } = this.#options;
    if (this.#isClosed) return Promise.reject(refusals.stopping());
    if (this.#waitingCount >= mostWaiting || own.length >= mostWaitingOfOne)
      return Promise.reject(refusals.tooBusy());
    return new Promise((begin, refuse) => {
      own.push({ begin, refuse });
      this.#waitingCount++;
      this.#waiting.set(owner, own);
      this.#startNext();
    });
  }

  #startNext(): void {
    for (const [owner, waiting] of this.#waiting) {
      if (this.#running.size >= this.#options.atOnce) return;
      if (this.#running.has(owner)) continue;
      const turn = waiting.shift();
      this.#waiting.delete(owner);
      // Its next turn comes after those of all others.
      if (waiting.length > 0) this.#waiting.set(owner, waiting);
      if (turn === undefined) continue;
      this.#waitingCount--;
      this.#running.add(owner);
      turn.begin();
    }
  }
}
