/** Counts observed values by upper bounds. An observation makes no garbage. */

/** Upper bounds in seconds, for what a user waits for. */
const SECONDS: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

export class Histogram {
  readonly bounds: readonly number[];
  /** The observations up to each bound and above the one before it; the last are above all bounds. */
  readonly counts: Float64Array;
  #sum = 0;

  /** The bounds grow. */
  constructor(bounds: readonly number[] = SECONDS) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  get sum(): number {
    return this.#sum;
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] ?? Infinity)) bucket++;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }
}
