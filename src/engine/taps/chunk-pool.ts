/**
 * The free chunks of an engine. When there are none, logs give up drained chunks that they keep for viewers, so that
 * another log can go on recording.
 */
import { NO_CHUNK } from '../../base/memory/capture-memory.js';

/** A log that may have chunks to spare. */
export interface ChunkHolder {
  /** Gives up its oldest chunk, if that is drained and not being read, else returns NO_CHUNK. */
  spare(): number;
}

/** A packet without room asks at most this many other logs, so that dropping packets stays cheap. */
const ASKED_AT_ONCE = 16;

export class ChunkPool {
  #stack = new Int32Array(0);
  #free = 0;
  readonly #holders: ChunkHolder[] = [];
  #next = 0;

  get free(): number {
    return this.#free;
  }

  /** Call once, first: puts all of the engine's chunks into the pool, except those that logs hold already. */
  fill(chunks: number, held: ReadonlySet<number>): void {
    this.#stack = new Int32Array(chunks);
    // Chunk 0 is on top: chunks that were never used take no memory yet.
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

  /** A chunk that another log can spare, or NO_CHUNK. */
  takeSpare(): number {
    const most = Math.min(ASKED_AT_ONCE, this.#holders.length);
    for (let asked = 0; asked < most; asked++) {
      this.#next = (this.#next + 1) % this.#holders.length;
      const chunk = this.#holders[this.#next]?.spare() ?? NO_CHUNK;
      if (chunk !== NO_CHUNK) return chunk;
    }
    return NO_CHUNK;
  }
}
