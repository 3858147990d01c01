/**
 * The record of a port that shares memory with a guest. The HTTP thread makes it with the socket, and the engine notes
 * in it whatever it opens: the next life of an engine that has died finds there all that has to be closed first. It
 * also carries the reason for which a guest was cut off, back to the HTTP thread.
 */

/** The descriptors that an engine has: the connection, then two events of each queue. */
export const MOST_HELD = 5;
/** The protocol sends as many at once. */
export const MOST_REGIONS = 8;

/** The Int32 words: the reason, and each descriptor plus 1; 0 is none. */
export const GUEST_WORD = { fault: 0, held: 1 } as const;
const WORDS = GUEST_WORD.held + MOST_HELD;
/** Before the regions, of which each has an address and a length. The offset is a multiple of 8. */
const REGIONS_AT = 32;

export class GuestRecord {
  readonly words: Int32Array;
  readonly #regions: Float64Array;

  constructor(
    buffer = new SharedArrayBuffer(REGIONS_AT + MOST_REGIONS * 2 * Float64Array.BYTES_PER_ELEMENT),
  ) {
    this.words = new Int32Array(buffer, 0, WORDS);
    this.#regions = new Float64Array(buffer, REGIONS_AT);
  }

  get buffer(): SharedArrayBuffer {
    return this.words.buffer as SharedArrayBuffer;
  }

  /** Undefined when there is none. */
  descriptor(index: number): number | undefined {
    const word = this.words[GUEST_WORD.held + index] ?? 0;
    return word === 0 ? undefined : word - 1;
  }

  hold(index: number, descriptor: number | undefined): void {
    this.words[GUEST_WORD.held + index] = descriptor === undefined ? 0 : descriptor + 1;
  }

  /** A length of 0 is none. */
  region(index: number): { readonly address: number; readonly length: number } {
    return { address: this.#regions[2 * index] ?? 0, length: this.#regions[2 * index + 1] ?? 0 };
  }

  holdRegion(index: number, address: number, length: number): void {
    this.#regions[2 * index] = address;
    this.#regions[2 * index + 1] = length;
  }
}
