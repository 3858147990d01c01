/**
 * Writes one log: finds room for a record in its chunks, and makes what is written readable once a batch. Records
 * that reach from one chunk into the next are written to a scratch first and then copied in parts, so that who
 * writes a record always sees one stretch. Positions and ordinals are whole here; only the words hold parts of them.
 */
import { CHUNK_LENGTH, CHUNKS_A_LOG, LOG_COUNTER, NO_CHUNK } from '../../base/memory/capture-memory.js';
import type { ChunkHolder, ChunkPool } from './chunk-pool.js';
import type { LogWords } from './log-words.js';
import { copyOctets, type Octets } from './octets.js';

const CHUNK_MASK = CHUNK_LENGTH - 1;
/** Drained chunks that a log keeps for viewers. */
const HISTORY_CHUNKS = 4;

/** What all logs of an engine share. */
export interface LogPlace {
  readonly octets: Octets;
  /** Where chunk 0 lies. */
  readonly start: number;
  readonly pool: ChunkPool;
  /** Room for the largest record. */
  readonly scratch: Octets;
}

export class LogWriter implements ChunkHolder {
  readonly words: LogWords;
  /** Where the reserved stretch lies. */
  view: DataView;
  at = 0;
  packets: number;
  /** Of the packets that are not published yet. */
  octets = 0;
  dropped: number;
  aal5NoRoom: number;
  aal5Faulty: number;
  readonly #place: LogPlace;
  readonly #counters: Float64Array;
  /** The position at which the chunk ends that is being written: what changes with every record stays small. */
  #end: number;
  /** The ordinal of the oldest chunk, and the one behind the newest. */
  #oldest: number;
  #next: number;
  /** Where the position lies in memory, and how much of its chunk is left; 0 also when it has none yet. */
  #tail = 0;
  #room = 0;
  #ended: number;
  /** What must still fit below any limit. */
  #heldBack = 0;

  /** Goes on where the words say that an engine before this one has stopped. */
  constructor(words: LogWords, place: LogPlace) {
    this.words = words;
    this.#place = place;
    this.#counters = words.counters;
    this.view = place.octets.view;
    this.packets = this.#counters[LOG_COUNTER.packets] ?? 0;
    this.dropped = this.#counters[LOG_COUNTER.dropped] ?? 0;
    this.aal5NoRoom = this.#counters[LOG_COUNTER.aal5NoRoom] ?? 0;
    this.aal5Faulty = this.#counters[LOG_COUNTER.aal5Faulty] ?? 0;
    this.#ended = words.ended;
    const length = this.#counters[LOG_COUNTER.length] ?? 0;
    this.#end = length + ((words.head - length) | 0);
    this.#next = Math.ceil(this.#position / CHUNK_LENGTH);
    this.#oldest = this.#next - ((this.#next - words.reclaimed) & 0xffff);
    this.#locate();
    // What an engine has put and not published is not there.
    words.noteInterfaces(words.interfacesBefore(this.#position), 0);
  }

  /** When its last packet was, in milliseconds since 1970. */
  get lastAt(): number {
    return this.#counters[LOG_COUNTER.lastAt] ?? 0;
  }

  get #position(): number {
    return this.#end - this.#room;
  }

  get isEnded(): boolean {
    return this.#ended !== 0;
  }

  /** Nothing is recorded any more, for one of LOG_END. */
  end(reason: number): void {
    this.#ended ||= reason;
  }

  /** Whether so much more stays within a limit of the whole log; 0 is none. */
  fits(length: number, mostOctets: number): boolean {
    return mostOctets === 0 || this.#position + length + this.#heldBack <= mostOctets;
  }

  /** So much, or less when negative, is left free below limits. */
  holdBack(length: number): void {
    this.#heldBack += length;
  }

  /** Room for a record, at `at` of `view`, until the next call; false when there is none. */
  reserve(length: number): boolean {
    if (length > this.#room) return this.#reserveMore(length);
    this.view = this.#place.octets.view;
    this.at = this.#tail;
    return true;
  }

  /** What was reserved last is a whole record now. */
  commit(length: number): void {
    const { scratch } = this.#place;
    if (this.view === scratch.view) this.#copyIn(scratch.view, length);
    else this.#advance(length);
  }

  /** Whole blocks that are no packets; false when there is no room for them. */
  put(octets: Octets): boolean {
    const { length } = octets.bytes;
    if (!this.reserve(length)) return false;
    copyOctets(octets.view, 0, this.view, this.at, length);
    this.commit(length);
    return true;
  }

  /** Puts the description of an interface; returns the number that it has then, undefined when there is no room. */
  describe(description: Octets): number | undefined {
    const number = this.words.interfacesBefore(this.#position);
    if (!this.put(description)) return undefined;
    // At once with what says when it holds: an engine that dies before it publishes has described nothing.
    this.words.noteInterfaces(number + 1, this.#position);
    return number;
  }

  /** Lets everybody see what was committed; `now` is the time of all of it, in milliseconds since 1970. */
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
    this.words.head = this.#position;
    // Comes after the last record: whoever sees it has only to look at the head once more.
    if (this.#ended !== 0) this.words.ended = this.#ended;
  }

  /** The numbers of its chunks. */
  chunks(): number[] {
    const length = this.#next - this.#oldest;
    return Array.from({ length }, (_, index) => this.words.chunkOf(this.#oldest + index));
  }

  spare(): number {
    const ordinal = this.#oldest;
    if (this.#drainedChunks() === 0 || !this.words.reclaim(ordinal)) return NO_CHUNK;
    const chunk = this.words.chunkOf(ordinal);
    this.words.setChunk(ordinal, NO_CHUNK);
    this.#oldest++;
    return chunk;
  }

  /** Gives back all chunks; nothing is written afterwards. */
  release(): void {
    for (const chunk of this.chunks()) this.#place.pool.giveBack(chunk);
    this.words.clear();
  }

  #reserveMore(length: number): boolean {
    if (length > this.#place.scratch.bytes.length) return false;
    while (this.#next * CHUNK_LENGTH - this.#position < length) {
      const chunk = this.#findChunk();
      if (chunk === NO_CHUNK) return false;
      this.words.setChunk(this.#next++, chunk);
    }
    this.#locate();
    const isWhole = length <= this.#room;
    this.view = isWhole ? this.#place.octets.view : this.#place.scratch.view;
    this.at = isWhole ? this.#tail : 0;
    return true;
  }

  #copyIn(from: DataView, length: number): void {
    const { view } = this.#place.octets;
    for (let done = 0; done < length;) {
      const part = Math.min(length - done, this.#room);
      copyOctets(from, done, view, this.#tail, part);
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
    this.#tail = hasChunk ? this.#place.start + this.words.chunkOf(ordinal) * CHUNK_LENGTH + within : 0;
  }

  /** One more: its own that has become too old, a free one, any of its own that is drained, one of another log. */
  #findChunk(): number {
    const { pool } = this.#place;
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
    if (chunk === NO_CHUNK && !isFull) chunk = pool.beg();
    return chunk;
  }

  #drainedChunks(): number {
    const undrained = ((this.#position | 0) - this.words.drained) >>> 0;
    return Math.floor((this.#position - undrained) / CHUNK_LENGTH) - this.#oldest;
  }
}
