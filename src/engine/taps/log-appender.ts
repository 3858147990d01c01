/**
 * Appends to one log: finds room for a record in its chunks, and publishes what was written once per batch. A record
 * that crosses from one chunk into the next is written to a scratch buffer first and then copied in parts, so that the
 * caller always writes into one contiguous stretch. Positions and ordinals are complete here; the header holds only
 * their low bits.
 */
import { CHUNK_LENGTH, CHUNKS_A_LOG, LOG_COUNTER, NO_CHUNK } from '../../base/memory/capture-memory.js';
import type { ChunkHolder, ChunkPool } from './chunk-pool.js';
import type { LogHeader } from './log-header.js';
import { copyBytes, type ByteSpan } from './byte-span.js';

const CHUNK_MASK = CHUNK_LENGTH - 1;
/** Drained chunks that a log keeps for viewers. */
const HISTORY_CHUNKS = 4;

/** Shared by all logs of an engine. */
export interface LogContext {
  readonly memory: ByteSpan;
  /** The offset of chunk 0 in `memory`. */
  readonly start: number;
  readonly pool: ChunkPool;
  /** Room for the largest record. */
  readonly scratch: ByteSpan;
}

export class LogAppender implements ChunkHolder {
  readonly header: LogHeader;
  /** The reserved stretch begins at `at` of `view`. */
  view: DataView;
  at = 0;
  packets: number;
  /** The original bytes of the packets that are not published yet. */
  octets = 0;
  dropped: number;
  aal5NoRoom: number;
  aal5Faulty: number;
  readonly #context: LogContext;
  readonly #counters: Float64Array;
  /** The position where the current chunk ends. `#tail` and `#room` change with every record and stay small integers. */
  #end: number;
  /** The ordinal of the oldest chunk, and of the next chunk to be added. */
  #oldest: number;
  #next: number;
  /** The offset of the position in memory, and the bytes left in its chunk; 0 when it has no chunk yet. */
  #tail = 0;
  #room = 0;
  #ended: number;
  /** The bytes that limits must leave free. */
  #heldBack = 0;

  /** Continues where the header says that a previous engine stopped. */
  constructor(header: LogHeader, context: LogContext) {
    this.header = header;
    this.#context = context;
    this.#counters = header.counters;
    this.view = context.memory.view;
    this.packets = this.#counters[LOG_COUNTER.packets] ?? 0;
    this.dropped = this.#counters[LOG_COUNTER.dropped] ?? 0;
    this.aal5NoRoom = this.#counters[LOG_COUNTER.aal5NoRoom] ?? 0;
    this.aal5Faulty = this.#counters[LOG_COUNTER.aal5Faulty] ?? 0;
    this.#ended = header.ended;
    const length = this.#counters[LOG_COUNTER.length] ?? 0;
    this.#end = length + ((header.head - length) | 0);
    this.#next = Math.ceil(this.#position / CHUNK_LENGTH);
    this.#oldest = this.#next - ((this.#next - header.reclaimed) & 0xffff);
    this.#locate();
    // Interfaces that the previous engine wrote but did not publish are not in the log.
    header.noteInterfaces(header.interfacesBefore(this.#position), 0);
  }

  /** The time of the last packet, in milliseconds since 1970. */
  get lastAt(): number {
    return this.#counters[LOG_COUNTER.lastAt] ?? 0;
  }

  get #position(): number {
    return this.#end - this.#room;
  }

  get isEnded(): boolean {
    return this.#ended !== 0;
  }

  /** Stops recording; the reason is one of LOG_END. The first reason counts. */
  end(reason: number): void {
    this.#ended ||= reason;
  }

  /** Whether `length` more bytes stay within a limit on the whole log; 0 is no limit. */
  fits(length: number, mostOctets: number): boolean {
    return mostOctets === 0 || this.#position + length + this.#heldBack <= mostOctets;
  }

  /** Makes limits leave `length` more bytes free; fewer when it is negative. */
  holdBack(length: number): void {
    this.#heldBack += length;
  }

  /** Reserves room for a record, at `at` of `view`, until the next call; false when there is no room. */
  reserve(length: number): boolean {
    if (length > this.#room) return this.#reserveMore(length);
    this.view = this.#context.memory.view;
    this.at = this.#tail;
    return true;
  }

  /** Adds the record in the stretch reserved last to the log. */
  commit(length: number): void {
    const { scratch } = this.#context;
    if (this.view === scratch.view) this.#copyIn(scratch.view, length);
    else this.#advance(length);
  }

  /** Appends a whole block that is not a packet; false when there is no room. */
  put(block: ByteSpan): boolean {
    const { length } = block.bytes;
    if (!this.reserve(length)) return false;
    copyBytes(block.view, 0, this.view, this.at, length);
    this.commit(length);
    return true;
  }

  /** Appends the description of an interface; returns the number of the interface, undefined when there is no room. */
  describe(description: ByteSpan): number | undefined {
    const number = this.header.interfacesBefore(this.#position);
    if (!this.put(description)) return undefined;
    // Count and position are stored in one step: if the engine dies before it publishes, nothing was described.
    this.header.noteInterfaces(number + 1, this.#position);
    return number;
  }

  /** Makes the committed records readable; `now` is the time of all of them, in milliseconds since 1970. */
  publish(now: number): void {
    const counters = this.#counters;
    const known = counters[LOG_COUNTER.packets] ?? 0;
    if (this.packets > known) {
      if (known === 0) counters[LOG_COUNTER.firstAt] = now;
      counters[LOG_COUNTER.lastAt] = now;
      counters[LOG_COUNTER.packets] = this.packets;
      counters[LOG_COUNTER.octets] = (counters[LOG_COUNTER.octets] ?? 0) + this.octets;
      this.octets = 0;
    }
    counters[LOG_COUNTER.dropped] = this.dropped;
    counters[LOG_COUNTER.aal5NoRoom] = this.aal5NoRoom;
    counters[LOG_COUNTER.aal5Faulty] = this.aal5Faulty;
    counters[LOG_COUNTER.length] = this.#position;
    this.header.head = this.#position;
    // Stored after the head: a reader that sees the end loads the head once more and has everything.
    if (this.#ended !== 0) this.header.ended = this.#ended;
  }

  /** The numbers of its chunks, oldest first. */
  chunks(): number[] {
    const length = this.#next - this.#oldest;
    return Array.from({ length }, (_, index) => this.header.chunkOf(this.#oldest + index));
  }

  spare(): number {
    const ordinal = this.#oldest;
    if (this.#drainedChunks() === 0 || !this.header.reclaim(ordinal)) return NO_CHUNK;
    const chunk = this.header.chunkOf(ordinal);
    this.header.setChunk(ordinal, NO_CHUNK);
    this.#oldest++;
    return chunk;
  }

  /** Gives back all chunks. Call once; nothing may follow. */
  release(): void {
    for (const chunk of this.chunks()) this.#context.pool.giveBack(chunk);
    this.header.clear();
  }

  #reserveMore(length: number): boolean {
    if (length > this.#context.scratch.bytes.length) return false;
    while (this.#next * CHUNK_LENGTH - this.#position < length) {
      const chunk = this.#findChunk();
      if (chunk === NO_CHUNK) return false;
      this.header.setChunk(this.#next++, chunk);
    }
    this.#locate();
    const isWhole = length <= this.#room;
    this.view = isWhole ? this.#context.memory.view : this.#context.scratch.view;
    this.at = isWhole ? this.#tail : 0;
    return true;
  }

  #copyIn(from: DataView, length: number): void {
    const { view } = this.#context.memory;
    for (let done = 0; done < length;) {
      const part = Math.min(length - done, this.#room);
      copyBytes(from, done, view, this.#tail, part);
      this.#advance(part);
      done += part;
    }
  }

  #advance(length: number): void {
    this.#tail += length;
    this.#room -= length;
    if (this.#room === 0) this.#locate();
  }

  #locate(): void {
    const position = this.#position;
    const ordinal = Math.floor(position / CHUNK_LENGTH);
    const hasChunk = ordinal < this.#next;
    const within = position & CHUNK_MASK;
    this.#room = hasChunk ? CHUNK_LENGTH - within : 0;
    this.#end = position + this.#room;
    this.#tail = hasChunk ? this.#context.start + this.header.chunkOf(ordinal) * CHUNK_LENGTH + within : 0;
  }

  /**
   * Finds a chunk to continue in, by preference: its own beyond the history that it keeps, a free one, any of its own
   * that is drained, one that another log can spare.
   */
  #findChunk(): number {
    const { pool } = this.#context;
    let chunk = NO_CHUNK;
    while (this.#drainedChunks() > HISTORY_CHUNKS) {
      if (chunk !== NO_CHUNK) pool.giveBack(chunk);
      chunk = this.spare();
      if (chunk === NO_CHUNK) break;
    }
    if (chunk !== NO_CHUNK) return chunk;
    const isFull = this.#next - this.#oldest >= CHUNKS_A_LOG;
    if (!isFull) chunk = pool.take();
    if (chunk === NO_CHUNK) chunk = this.spare();
    if (chunk === NO_CHUNK && !isFull) chunk = pool.takeSpare();
    return chunk;
  }

  #drainedChunks(): number {
    const undrained = ((this.#position | 0) - this.header.drained) >>> 0;
    return Math.floor((this.#position - undrained) / CHUNK_LENGTH) - this.#oldest;
  }
}
