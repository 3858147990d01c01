/**
 * A log on the HTTP thread: its counters, and what lies of it in memory, for viewers. Its words hold the low 32
 * bits of positions, so it must be looked at before 4 GiB have passed since the last time; its writer does that
 * twice a second. After `leaveMemory` everything stays as it was at that moment.
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
/** Words have the low 16 bits of ordinals. */
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

export class LogReader {
  readonly memory: CaptureMemory;
  readonly index: number;
  readonly #log: LogMemory;
  readonly #counters: Float64Array;
  #head = 0;
  #drained = 0;
  /** What is left of it, once its memory is another's. */
  #last: { readonly counts: LogCounts; readonly ended: number } | undefined;

  constructor({ memory, index }: Pick<DeviceLog, 'memory' | 'index'>) {
    this.memory = memory;
    this.index = index;
    this.#log = new LogMemory(memory, index);
    const counter = Float64Array.BYTES_PER_ELEMENT;
    this.#counters = new Float64Array(memory.counters, index * LOG_COUNTERS * counter, LOG_COUNTERS);
  }

  /** Comes before the first tap. */
  prepare(): void {
    this.#counters.fill(0);
    for (let slot = 0; slot < CHUNKS_A_LOG; slot++) this.#log.store(LOG.chunks + slot, NO_CHUNK);
    for (const word of [LOG.head, LOG.drained, LOG.reclaimed, LOG.ended, LOG.interfaces, LOG.interfaces + 1])
      this.#log.store(word, 0);
    this.#log.store(LOG.pin, NO_PIN);
    this.#log.store(LOG.active, 1);
  }

  /** Notes how far it has come. */
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

  /** Why its taps take nothing more, one of LOG_END; 0 while they do. */
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

  /** The position of the oldest octet that is in memory. */
  get oldest(): number {
    const ordinal = Math.floor(this.head / CHUNK_LENGTH);
    return (ordinal - ((ordinal - this.#log.load(LOG.reclaimed)) & ORDINAL_MASK)) * CHUNK_LENGTH;
  }

  /**
   * Calls `use` with the octets from a position on, up to the end of their chunk; they are valid only within the
   * call. False when they are not in memory, or nobody has written them yet.
   */
  read(position: number, use: (bytes: Uint8Array) => void): boolean {
    const head = this.head;
    // What is farther behind cannot be told apart by its ordinal.
    if (!this.isInMemory || position >= head || head - position > MEMORY_LENGTH) return false;
    const ordinal = Math.floor(position / CHUNK_LENGTH) & ORDINAL_MASK;
    // Pinned first, then looked at: the engine does the two in the other order.
    this.#log.store(LOG.pin, ordinal);
    try {
      if (((ordinal - this.#log.load(LOG.reclaimed)) & ORDINAL_MASK) >= MOST_ORDINALS_APART) return false;
      use(this.#log.view(position, head));
      return true;
    } finally {
      this.#log.store(LOG.pin, NO_PIN);
    }
  }

  /** Of a log that no file is written from: everything before the position has been taken care of. */
  drainTo(position: number): void {
    this.#log.store(LOG.drained, position | 0);
  }

  /** Its memory is about to be another log's. */
  leaveMemory(): void {
    if (this.#last !== undefined) return;
    this.look();
    this.#last = { counts: this.counters(), ended: this.ended };
  }
}

/**
 * One log in shared memory as its readers see it: the words, and views of the octets that lie in its chunks. Who
 * may read what, and when, stands in memory/capture-memory.ts. Positions are full Numbers here.
 */

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

  /** The first position from `known` on of which the word has the low 32 bits. */
  position(word: number, known: number): number {
    return known + ((this.load(word) - known) >>> 0);
  }

  /** The octets from a position to the end of its chunk, or to `end`. No copy. */
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

  /** Four octets, the lowest first, wherever the chunks part them. */
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
