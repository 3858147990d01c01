/** The end of the output of a node. Memory is taken as it is needed, because most nodes print little. */
export const LONGEST_SCROLLBACK = 64 * 1024;
const SHORTEST_RING = 1024;
const LINE_FEED = 10;

export class Scrollback {
  #ring = new Uint8Array(0);
  /** How many bytes were added since the last `clear`. */
  #added = 0;

  /**
   * A copy of all that was added; when that is more than LONGEST_SCROLLBACK, of its end from the first line feed on,
   * or of the whole end when it has none.
   */
  get bytes(): Uint8Array {
    const ring = this.#ring;
    if (this.#added <= ring.length) return ring.slice(0, this.#added);
    const oldest = this.#added % ring.length;
    const end = Buffer.concat([ring.subarray(oldest), ring.subarray(0, oldest)]);
    return end.subarray(end.indexOf(LINE_FEED) + 1);
  }

  /** Copies the bytes. */
  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#growTo(Math.min(this.#added + bytes.length, LONGEST_SCROLLBACK));
    const ring = this.#ring;
    const kept = bytes.subarray(-LONGEST_SCROLLBACK);
    const at = (this.#added + bytes.length - kept.length) % ring.length;
    const first = kept.subarray(0, ring.length - at);
    ring.set(first, at);
    ring.set(kept.subarray(first.length));
    this.#added += bytes.length;
  }

  clear(): void {
    this.#ring = new Uint8Array(0);
    this.#added = 0;
  }

  /** A ring that can still grow has never been full, so its content begins at its start. */
  #growTo(size: number): void {
    const { length } = this.#ring;
    if (size <= length) return;
    const grown = new Uint8Array(Math.min(Math.max(size, 2 * length, SHORTEST_RING), LONGEST_SCROLLBACK));
    grown.set(this.#ring.subarray(0, this.#added));
    this.#ring = grown;
  }
}
