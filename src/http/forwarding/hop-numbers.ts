/**
 * The numbers of the words that other servers have given to this one: each counts once. They may come in another order than
 * they were given in, so the last ones of each server are remembered one by one; what is older counts no more. No clock is
 * asked, so none can be wrong. Pure.
 */

/** More than can overtake each other on their way. */
const REMEMBERED = 32_768;
/** Servers that are remembered. The one that started first is forgotten, and all that started before it. */
const MOST_SERVERS = 1024;

interface HopNumber {
  readonly from: string;
  /** Grows from one start of the server to the next. */
  readonly start: number;
  readonly number: number;
}

interface Remembered {
  readonly start: number;
  highest: number;
  /** A bit for each of the last numbers. */
  readonly bits: Uint32Array;
}

export class HopNumbers {
  readonly #servers = new Map<string, Remembered>();
  #latestForgotten = -1;

  /** Takes a number; returns the fault of one that does not count. */
  take({ from, start, number }: HopNumber): 'hopUsed' | 'hopOutdated' | undefined {
    const before = this.#servers.get(from);
    if (start < (before?.start ?? this.#latestForgotten + 1)) return 'hopOutdated';
    const known = before?.start === start ? before : this.#begin(from, start, number);
    if (number <= known.highest - REMEMBERED) return 'hopOutdated';
    if (number > known.highest) raise(known, number);
    const bit = 1 << (number % 32);
    const at = wordOf(number);
    const word = known.bits[at] ?? 0;
    if ((word & bit) !== 0) return 'hopUsed';
    known.bits[at] = word | bit;
    return undefined;
  }

  #begin(from: string, start: number, highest: number): Remembered {
    const known = { start, highest, bits: new Uint32Array(REMEMBERED / 32) };
    this.#servers.set(from, known);
    if (this.#servers.size > MOST_SERVERS) this.#forgetFirst();
    return known;
  }

  #forgetFirst(): void {
    const [first] = [...this.#servers].sort(([, a], [, b]) => a.start - b.start);
    if (first === undefined) return;
    this.#servers.delete(first[0]);
    this.#latestForgotten = Math.max(this.#latestForgotten, first[1].start);
  }
}

/** Makes room for the numbers up to this one. */
function raise(known: Remembered, number: number): void {
  const { bits, highest } = known;
  if (number - highest >= REMEMBERED) bits.fill(0);
  else
    for (let next = highest + 1; next <= number; next++) {
      const at = wordOf(next);
      bits[at] = (bits[at] ?? 0) & ~(1 << (next % 32));
    }
  known.highest = number;
}

const wordOf = (number: number): number => Math.floor(number / 32) % (REMEMBERED / 32);
