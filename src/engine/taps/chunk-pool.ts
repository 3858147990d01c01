/**
 * The chunks of an engine that no log holds. When there are none, logs that keep what is drained already give some
 * of it up: without them another log could record nothing.
 */
import { NO_CHUNK } from '../../base/memory/capture-memory.js';

/** A log that may have chunks that it can do without. */
export interface ChunkHolder {
  /** Its oldest chunk, when that is drained and not being read, else NO_CHUNK. */
  spare(): number;
}

/** A packet without room asks so many others, so that packets without room stay cheap. */
const ASKED_AT_ONCE = 16;

export class ChunkPool {
  #stack = new Int32Array(0);
  #free = 0;
  readonly #holders: ChunkHolder[] = [];
  #next = 0;

  get free(): number {
    return this.#free;
  }

  /** Comes first: all of the engine's chunks but those that logs hold already. */
  fill(chunks: number, held: ReadonlySet<number>): void {
    this.#stack = new Int32Array(chunks);
    // The first is on top: chunks that were never used take no memory yet.
    for (let chunk = chunks - 1; chunk >= 0; chunk--) if (!held.has(chunk)) this.giveBack(chunk);
  }

  join(holder: ChunkHolder): void {
    this.#holders.push(holder);
  }

  leave(holder: ChunkHolder): void {
    const index = this.#holders.indexOf(holder);
    if (index >= 0) this.#holders.splice(index, 1);
  }

  /** NO_CHUNK when there is none. */
  take(): number {
    return this.#free === 0 ? NO_CHUNK : (this.#stack[--this.#free] ?? NO_CHUNK);
  }

  giveBack(chunk: number): void {
    this.#stack[this.#free++] = chunk;
  }

  /** What another log can do without. */
  beg(): number {
    const most = Math.min(ASKED_AT_ONCE, this.#holders.length);
    for (let asked = 0; asked < most; asked++) {
      this.#next = (this.#next + 1) % this.#holders.length;
      const chunk = this.#holders[this.#next]?.spare() ?? NO_CHUNK;
      if (chunk !== NO_CHUNK) return chunk;
    }
    return NO_CHUNK;
  }
}
