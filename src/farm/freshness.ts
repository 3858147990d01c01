/**
 * How far this server knows what others have changed. It asks the store for the last change of anybody, and waits until it
 * has followed that far: then it knows all that was acknowledged before it asked. Everybody who waits shares one question.
 */
import type { Position, SharedStore } from '../base/store/store.js';
import { within, type FarmClock } from './farm-clock.js';

interface FreshnessOptions {
  readonly store: Pick<SharedStore, 'latest'>;
  readonly clock: FarmClock;
  /** Resolves when the changes up to the position are known here. */
  readonly reached: (position: Position) => Promise<void>;
}

/** A wait for an answer, and one for a store that has not answered the last time. */
const PATIENCE_MS = 2000;
const SILENT_PATIENCE_MS = 100;
const PULSE_MS = 3000;

export class Freshness {
  readonly #options: FreshnessOptions;
  /** The moment as of which everything is known here. */
  #knownAt: number;
  #isSilent = false;
  #asking: Promise<void> | undefined;
  /** The question after that, for those who came when it was under way. */
  #next: Promise<void> | undefined;
  #isStopped = false;
  #callOff: () => void = () => undefined;

  constructor(options: FreshnessOptions) {
    this.#options = options;
    this.#knownAt = options.clock.now();
  }

  /** The age of what is known for certain. */
  get ageMs(): number {
    return this.#options.clock.now() - this.#knownAt;
  }

  /** Asks again and again, so that the age is small. */
  start(): void {
    void this.catchUp().then(() => {
      if (this.#isStopped) return;
      this.#callOff = this.#options.clock.after(PULSE_MS, () => {
        this.start();
      });
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#callOff();
  }

  /**
   * Resolves with undefined when all that was acknowledged before is known here; with the age in milliseconds of what is
   * known, when the store does not answer for a while.
   */
  async catchUp(): Promise<number | undefined> {
    const asked = this.#ask().then(() => true);
    const patience = this.#isSilent ? SILENT_PATIENCE_MS : PATIENCE_MS;
    const isDone = await within(this.#options.clock, patience, asked);
    this.#isSilent = isDone === undefined;
    return this.#isSilent ? this.ageMs : undefined;
  }

  #ask(): Promise<void> {
    if (this.#asking === undefined) return this.#begin();
    return (this.#next ??= this.#asking.catch(() => undefined).then(() => this.#begin()));
  }

  #begin(): Promise<void> {
    this.#next = undefined;
    const asking = this.#askNow().finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    this.#asking = asking;
    return asking;
  }

  async #askNow(): Promise<void> {
    const { store, clock, reached } = this.#options;
    const askedAt = clock.now();
    await reached(await store.latest());
    this.#knownAt = Math.max(this.#knownAt, askedAt);
  }
}
