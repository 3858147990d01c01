/** The latest events of a channel: so many, and so long, that all of them may be sent to a client at once. */

const MOST_EVENTS = 1000;
/** In characters. Half of what may wait for a client of notifications. */
const MOST_CHARACTERS = 512 * 1024;

export class RecentEvents {
  readonly #lines: string[] = [];
  #characters = 0;
  /** The number of the last event that is not here any more. */
  #before: number;

  /** `sequence` is the number of the last event so far. */
  constructor(sequence: number) {
    this.#before = sequence;
  }

  /** Takes the next event. */
  add(line: string): void {
    this.#lines.push(line);
    this.#characters += line.length;
    while (this.#lines.length > MOST_EVENTS || this.#characters > MOST_CHARACTERS) {
      this.#characters -= this.#lines.shift()?.length ?? 0;
      this.#before++;
    }
  }

  /** The events after the one of this number; undefined when not all of them are here. */
  since(sequence: number): readonly string[] | undefined {
    const seen = sequence - this.#before;
    return seen >= 0 && seen <= this.#lines.length ? this.#lines.slice(seen) : undefined;
  }
}
