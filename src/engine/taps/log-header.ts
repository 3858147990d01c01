/**
 * The header of one log, as its engine uses it: the words and counters in shared memory. Words that other threads read
 * are stored with Atomics, in the order that base/memory/capture-memory.ts demands; words that only the engine writes
 * are read plainly.
 */
import {
  CHUNKS_A_LOG,
  LOG,
  LOG_COUNTERS,
  LOG_WORDS,
  NO_CHUNK,
  type CaptureMemory,
} from '../../base/memory/capture-memory.js';

const ORDINAL_MASK = 0xffff;
const COUNT_BITS = 16n;
const COUNT_MASK = 0xffffn;

export class LogHeader {
  readonly counters: Float64Array;
  readonly #words: Int32Array;
  readonly #interfaces: BigInt64Array;

  constructor(memory: CaptureMemory, log: number) {
    const { BYTES_PER_ELEMENT: word } = Int32Array;
    const { BYTES_PER_ELEMENT: counter } = Float64Array;
    this.#words = new Int32Array(memory.words, log * LOG_WORDS * word, LOG_WORDS);
    this.#interfaces = new BigInt64Array(memory.words, (log * LOG_WORDS + LOG.interfaces) * word, 1);
    this.counters = new Float64Array(memory.counters, log * LOG_COUNTERS * counter, LOG_COUNTERS);
  }

  get isActive(): boolean {
    return Atomics.load(this.#words, LOG.active) !== 0;
  }

  get head(): number {
    return Atomics.load(this.#words, LOG.head);
  }

  /** Publishes everything before the position: readers that see the new head also see those bytes. */
  set head(position: number) {
    Atomics.store(this.#words, LOG.head, position | 0);
  }

  get drained(): number {
    return Atomics.load(this.#words, LOG.drained);
  }

  get reclaimed(): number {
    return Atomics.load(this.#words, LOG.reclaimed) & ORDINAL_MASK;
  }

  get ended(): number {
    return Atomics.load(this.#words, LOG.ended);
  }

  set ended(reason: number) {
    Atomics.store(this.#words, LOG.ended, reason);
  }

  /** How many interfaces the log describes, if it ends at the position. */
  interfacesBefore(position: number): number {
    const noted = Atomics.load(this.#interfaces, 0);
    const count = Number(noted & COUNT_MASK);
    return position < Number(noted >> COUNT_BITS) ? count - 1 : count;
  }

  /** Notes that the log describes this many interfaces from the position on; before it, one less. */
  noteInterfaces(count: number, position: number): void {
    Atomics.store(this.#interfaces, 0, (BigInt(position) << COUNT_BITS) | BigInt(count));
  }

  chunkOf(ordinal: number): number {
    return this.#words[LOG.chunks + (ordinal % CHUNKS_A_LOG)] ?? NO_CHUNK;
  }

  setChunk(ordinal: number, chunk: number): void {
    Atomics.store(this.#words, LOG.chunks + (ordinal % CHUNKS_A_LOG), chunk);
  }

  /** Takes the oldest chunk away from readers; false, without any change, when a reader has pinned it. */
  reclaim(ordinal: number): boolean {
    Atomics.store(this.#words, LOG.reclaimed, (ordinal + 1) & ORDINAL_MASK);
    // A reader stores its pin before it loads `reclaimed`, so one of the two sees the other.
    if (Atomics.load(this.#words, LOG.pin) !== (ordinal & ORDINAL_MASK)) return true;
    Atomics.store(this.#words, LOG.reclaimed, ordinal & ORDINAL_MASK);
    return false;
  }

  /** Marks the log as not in use. */
  clear(): void {
    for (let slot = 0; slot < CHUNKS_A_LOG; slot++) this.setChunk(slot, NO_CHUNK);
    this.noteInterfaces(0, 0);
    Atomics.store(this.#words, LOG.active, 0);
  }
}
