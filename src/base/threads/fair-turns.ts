/**
 * Work of many owners that few may do at once. Each owner's work is done in order, one at a time, and owners take turns:
 * whoever comes waits for one work of each other owner at most, however much those have asked for.
 */
import { refusals } from '../errors/errors.js';

export interface FairTurnsOptions {
  readonly atOnce: number;
  /** More is refused (503). */
  readonly mostWaiting: number;
  readonly mostWaitingOfOne: number;
}

interface Turn {
  readonly begin: () => void;
  readonly refuse: (error: Error) => void;
}

export class FairTurns {
  readonly #options: FairTurnsOptions;
  /** What waits, by owner; the owner whose turn is next comes first. */
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

  /** What waits is refused (503), and so is what comes. What runs goes on. */
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
      // Behind all others.
      if (waiting.length > 0) this.#waiting.set(owner, waiting);
      if (turn === undefined) continue;
      this.#waitingCount--;
      this.#running.add(owner);
      turn.begin();
    }
  }
}
