/** Reads the counts of links as they come, and makes rates of them. */
import { RATES, type Scene } from './scene.js';

interface Numbering {
  readonly links: Readonly<Record<string, number>>;
  readonly removed: readonly string[];
}

interface Counts {
  readonly at: number;
  readonly values: Float64Array;
}

/** The number of a link, and its counts. */
const RECORD = RATES + 1;

export class LinkCounts {
  readonly #scene: Scene;
  readonly #ids = new Map<number, string>();
  readonly #counts = new Map<string, Counts>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Begins anew, as a new connection does. */
  reset(): void {
    this.#ids.clear();
    this.#counts.clear();
  }

  /** The counts of a link since it was connected. */
  totals(id: string): Float64Array | undefined {
    return this.#counts.get(id)?.values;
  }

  /** Takes a text frame. */
  number({ links, removed }: Numbering): void {
    for (const [id, number] of Object.entries(links)) this.#ids.set(number, id);
    for (const id of removed) this.#counts.delete(id);
  }

  /** Takes a binary frame. What is not in it has not changed. */
  take(bytes: ArrayBuffer): void {
    const scene = this.#scene;
    const values = new Float64Array(bytes);
    const [at = 0] = values;
    const wasMoving = scene.rates.some((rate) => rate !== 0);
    scene.rates.fill(0);
    for (let start = 1; start + RECORD <= values.length; start += RECORD) {
      const id = this.#ids.get(values[start] ?? -1);
      if (id === undefined) continue;
      const counts = values.slice(start + 1, start + RECORD);
      const before = this.#counts.get(id);
      this.#counts.set(id, { at, values: counts });
      if (before !== undefined) this.#show(id, before, { at, values: counts });
    }
    if (wasMoving || values.length > 1) scene.revision++;
  }

  #show(id: string, before: Counts, now: Counts): void {
    const link = this.#scene.linkIndex(id);
    // Links that were still for a while are not in the frames between, so at most the last second counts.
    const seconds = Math.min(1.5, Math.max(0.2, (now.at - before.at) / 1000));
    if (link === undefined) return;
    for (let column = 0; column < RATES; column++) {
      const gain = (now.values[column] ?? 0) - (before.values[column] ?? 0);
      // Counts that begin again say nothing about the time before.
      this.#scene.rates[link * RATES + column] = Math.max(0, gain) / seconds;
    }
  }
}
