/**
 * Limits how much work of many owners runs at once. The work of one owner begins in order, and the owners take turns: an
 * owner waits for at most one piece of each other owner, however much work those have.
 */
import { refusals } from '../errors/errors.js';

interface FairTurnsOptions {
  readonly atOnce: number;
  /** How many pieces of one owner run at once; one piece at a time unless this says more. */
  readonly atOnceOfOne?: number;
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
  /** The number of running pieces by owner, and of all. */
  readonly #running = new Map<string, number>();
  #runningCount = 0;
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
      this.#count(owner, -1);
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
    const { atOnce, atOnceOfOne = 1 } = this.#options;
    for (const [owner, waiting] of this.#waiting) {
      if (this.#runningCount >= atOnce) return;
      if ((this.#running.get(owner) ?? 0) >= atOnceOfOne) continue;
      const turn = waiting.shift();
      this.#waiting.delete(owner);
      // Its next turn comes after those of all others.
      if (waiting.length > 0) this.#waiting.set(owner, waiting);
      if (turn === undefined) continue;
      this.#waitingCount--;
      this.#count(owner, 1);
      turn.begin();
    }
  }

  #count(owner: string, by: 1 | -1): void {
    const count = (this.#running.get(owner) ?? 0) + by;
    this.#runningCount += by;
    if (count === 0) this.#running.delete(owner);
    else this.#running.set(owner, count);
  }
}
