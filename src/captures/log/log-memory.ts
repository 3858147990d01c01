/**
 * One log in shared memory as its readers see it: the words, and views of the octets that lie in its chunks. Who
 * may read what, and when, stands in memory/capture-memory.ts. Positions are full Numbers here.
 */
import {
  CHUNK_LENGTH,
  CHUNKS_A_LOG,
  LOG,
  LOG_WORDS,
  NO_CHUNK,
  type CaptureMemory,
} from '../../base/memory/capture-memory.js';

export class LogMemory {
  readonly #words: Int32Array;
  readonly #octets: Uint8Array;
  readonly #start: number;

  constructor(memory: CaptureMemory, index: number) {
    this.#words = new Int32Array(memory.words, index * LOG_WORDS * Int32Array.BYTES_PER_ELEMENT, LOG_WORDS);
    this.#octets = new Uint8Array(memory.bytes);
    this.#start = memory.start;
  }

  load(word: number): number {
    return Atomics.load(this.#words, word);
  }

  store(word: number, value: number): void {
    Atomics.store(this.#words, word, value);
  }

  /** The first position from `known` on of which the word has the low 32 bits. */
  position(word: number, known: number): number {
    return known + ((this.load(word) - known) >>> 0);
  }

  /** The octets from a position to the end of its chunk, or to `end`. No copy. */
  view(position: number, end: number): Uint8Array {
    const offset = this.#offset(position);
    const length = Math.min(CHUNK_LENGTH - (position % CHUNK_LENGTH), end - position);
    return this.#octets.subarray(offset, offset + length);
  }

  views(from: number, end: number): Uint8Array[] {
    const views: Uint8Array[] = [];
    for (let position = from; position < end;) {
      const view = this.view(position, end);
      views.push(view);
      position += view.length;
    }
    return views;
  }

  /** Four octets, the lowest first, wherever the chunks part them. */
  uint32(position: number): number {
    const low = this.#octet(position) | (this.#octet(position + 1) << 8);
    return (low | (this.#octet(position + 2) << 16) | (this.#octet(position + 3) << 24)) >>> 0;
  }

  #octet(position: number): number {
    return this.#octets[this.#offset(position)] ?? 0;
  }

  #offset(position: number): number {
    const chunk = this.#words[LOG.chunks + (Math.floor(position / CHUNK_LENGTH) % CHUNKS_A_LOG)] ?? NO_CHUNK;
    if (chunk === NO_CHUNK) throw new RangeError(`a log has no chunk at its position ${position}`);
    return this.#start + chunk * CHUNK_LENGTH + (position % CHUNK_LENGTH);
  }
}
