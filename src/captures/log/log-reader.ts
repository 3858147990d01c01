/**
 * A capture log as its readers see it. `LogMemory` is the shared memory of one log: its words, and views of its bytes.
 * `LogReader` adds, on the HTTP thread, the counters and the way to read bytes while the engine writes. Which side may
 * read and write what, and when, is described in base/memory/capture-memory.ts.
 */
import type { DeviceLog } from '../../engine/control/running-device.js';
import {
  CHUNK_LENGTH,
  CHUNKS_A_LOG,
  LOG,
  LOG_COUNTER,
  LOG_COUNTERS,
  NO_CHUNK,
  NO_PIN,
  type CaptureMemory,
  LOG_WORDS,
} from '../../base/memory/capture-memory.js';

const MEMORY_LENGTH = CHUNKS_A_LOG * CHUNK_LENGTH;
/** The words hold the low 16 bits of the ordinals of chunks. */
const ORDINAL_MASK = 0xffff;
const MOST_ORDINALS_APART = 0x8000;

export interface LogCounts {
  readonly packets: number;
  readonly octets: number;
  readonly dropped: number;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly aal5NoRoom: number;
  readonly aal5Faulty: number;
}

/**
 * The words hold only the low 32 bits of positions, so `look` must be called at least once in 4 GiB; the writer thread
 * does so twice a second. After `leaveMemory` everything stays as it was at that moment.
 */
export class LogReader {
  readonly memory: CaptureMemory;
  readonly index: number;
  readonly #log: LogMemory;
  readonly #counters: Float64Array;
  #head = 0;
  #drained = 0;
  /** The final counters, once the memory belongs to another log. */
  #last: { readonly counts: LogCounts; readonly ended: number } | undefined;

  constructor({ memory, index }: Pick<DeviceLog, 'memory' | 'index'>) {
    this.memory = memory;
    this.index = index;
    this.#log = new LogMemory(memory, index);
    const counter = Float64Array.BYTES_PER_ELEMENT;
    this.#counters = new Float64Array(memory.counters, index * LOG_COUNTERS * counter, LOG_COUNTERS);
  }

  /** Resets the memory; called before the first tap. */
  prepare(): void {
    this.#counters.fill(0);
    for (let slot = 0; slot < CHUNKS_A_LOG; slot++) this.#log.store(LOG.chunks + slot, NO_CHUNK);
    for (const word of [LOG.head, LOG.drained, LOG.reclaimed, LOG.ended, LOG.interfaces, LOG.interfaces + 1])
      this.#log.store(word, 0);
    this.#log.store(LOG.pin, NO_PIN);
    this.#log.store(LOG.active, 1);
  }

  /** Updates the positions. */
  look(): void {
    if (this.#last !== undefined) return;
    this.#head = this.#log.position(LOG.head, this.#head);
    this.#drained = this.#log.position(LOG.drained, this.#drained);
  }

  get head(): number {
    this.look();
    return this.#head;
  }

  get drained(): number {
    this.look();
    return this.#drained;
  }

  /** Why the taps record nothing more, one of LOG_END; 0 while they do. */
  get ended(): number {
    return this.#last?.ended ?? this.#log.load(LOG.ended);
  }

  get isInMemory(): boolean {
    return this.#last === undefined;
  }

  counters(): LogCounts {
    if (this.#last !== undefined) return this.#last.counts;
    const at = (index: number): number => this.#counters[index] ?? 0;
    return {
      packets: at(LOG_COUNTER.packets),
      octets: at(LOG_COUNTER.octets),
      dropped: at(LOG_COUNTER.dropped),
      firstAt: at(LOG_COUNTER.firstAt),
      lastAt: at(LOG_COUNTER.lastAt),
      aal5NoRoom: at(LOG_COUNTER.aal5NoRoom),
      aal5Faulty: at(LOG_COUNTER.aal5Faulty),
    };
  }

  /** The position of the oldest byte in memory. */
  get oldest(): number {
    const ordinal = Math.floor(this.head / CHUNK_LENGTH);
    return (ordinal - ((ordinal - this.#log.load(LOG.reclaimed)) & ORDINAL_MASK)) * CHUNK_LENGTH;
  }

  /**
   * Calls `use` with the bytes from a position on, up to the end of their chunk. They are valid only within the call.
   * Returns false when the bytes are not in memory, or not written yet.
   */
  read(position: number, use: (bytes: Uint8Array) => void): boolean {
    const head = this.head;
    // Beyond that distance the 16 bits of an ordinal are ambiguous.
    if (!this.isInMemory || position >= head || head - position > MEMORY_LENGTH) return false;
    const ordinal = Math.floor(position / CHUNK_LENGTH) & ORDINAL_MASK;
    // Pins, then reads `reclaimed`; the engine does it in the opposite order, so one of the two always sees the other.
    this.#log.store(LOG.pin, ordinal);
    try {
      if (((ordinal - this.#log.load(LOG.reclaimed)) & ORDINAL_MASK) >= MOST_ORDINALS_APART) return false;
      use(this.#log.view(position, head));
      return true;
    } finally {
      this.#log.store(LOG.pin, NO_PIN);
    }
  }

  /** Frees everything before the position, for a log that no file is written from. */
  drainTo(position: number): void {
    this.#log.store(LOG.drained, position | 0);
  }

  /** Called before its memory is given to another log. */
  leaveMemory(): void {
    if (this.#last !== undefined) return;
    this.look();
    this.#last = { counts: this.counters(), ended: this.ended };
  }
}

/** The words and the bytes of one log in shared memory. Positions are full numbers here. */
export class LogMemory {
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #start: number;

  constructor(memory: CaptureMemory, index: number) {
    this.#words = new Int32Array(memory.words, index * LOG_WORDS * Int32Array.BYTES_PER_ELEMENT, LOG_WORDS);
    this.#bytes = new Uint8Array(memory.bytes);
    this.#start = memory.start;
  }

  load(word: number): number {
    return Atomics.load(this.#words, word);
  }

  store(word: number, value: number): void {
    Atomics.store(this.#words, word, value);
  }

  /** The first position at or after `known` whose low 32 bits are those of the word. */
  position(word: number, known: number): number {
    return known + ((this.load(word) - known) >>> 0);
  }

  /** A view, without a copy, of the bytes from a position to the end of its chunk, or to `end`. */
  view(position: number, end: number): Uint8Array {
    const offset = this.#offset(position);
    const length = Math.min(CHUNK_LENGTH - (position % CHUNK_LENGTH), end - position);
    return this.#bytes.subarray(offset, offset + length);
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

  /** Reads four bytes, the lowest first, even across two chunks. */
  uint32(position: number): number {
    const low = this.#byte(position) | (this.#byte(position + 1) << 8);
    return (low | (this.#byte(position + 2) << 16) | (this.#byte(position + 3) << 24)) >>> 0;
  }

  #byte(position: number): number {
    return this.#bytes[this.#offset(position)] ?? 0;
  }

  #offset(position: number): number {
    const chunk = this.#words[LOG.chunks + (Math.floor(position / CHUNK_LENGTH) % CHUNKS_A_LOG)] ?? NO_CHUNK;
    if (chunk === NO_CHUNK) throw new RangeError(`a log has no chunk at its position ${position}`);
    return this.#start + chunk * CHUNK_LENGTH + (position % CHUNK_LENGTH);
  }
}
