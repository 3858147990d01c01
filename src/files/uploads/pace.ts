/** How fast something moves, over the last few seconds. */
const SECONDS = 5;

export class Pace {
  readonly #samples: { readonly at: number; readonly octets: number }[] = [];

  /** To be called once a second; returns whether something has moved since the last time. */
  note(at: number, octets: number): boolean {
    const last = this.#samples.at(-1);
    this.#samples.push({ at, octets });
    if (this.#samples.length > SECONDS) this.#samples.shift();
    return octets !== last?.octets;
  }

  /** In bytes a second. */
  rate(at: number, octets: number): number {
    const [first] = this.#samples;
    if (first === undefined || at <= first.at) return 0;
    // An upload goes back when the end of it was wrong.
    return Math.max(0, Math.round(((octets - first.octets) * 1000) / (at - first.at)));
  }
}
