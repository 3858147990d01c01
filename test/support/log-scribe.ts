/**
 * Writes numbered records into a log as an engine does: whole records, then `head`; chunks are reused when they
 * are drained, and not while they are pinned. Every record can be told by its number alone.
 */
import {
  CHUNK_LENGTH,
  CHUNKS_A_LOG,
  LOG,
  LOG_WORDS,
  newCaptureMemory,
  NO_CHUNK,
  type CaptureMemory,
} from '../../src/base/memory/capture-memory.js';
import { FreeList } from '../../src/base/memory/free-list.js';
import { seededRandom } from './seeded-random.js';

export type Format = 'pcap' | 'pcapng';

const HISTORY = 4;
const MASK = 0xffff;
const PCAP_HEADER = 16;
const PCAPNG_FRAME = 32;

export function memoryOf(chunks: number): CaptureMemory {
  // Chunks need not lie at the start of their memory.
  const before = 1000;
  return newCaptureMemory(new SharedArrayBuffer(before + chunks * CHUNK_LENGTH), before);
}

/** A record whose length and content follow from its number. */
export function recordOf(number: number, format: Format = 'pcap', most = 1500): Buffer {
  const random = seededRandom(number);
  const kept = 8 + Math.floor(random() * (most - 8));
  const packet = Buffer.alloc(kept, number & 0xff);
  packet.writeUInt32LE(number, 0);
  if (format === 'pcap') {
    const header = Buffer.alloc(PCAP_HEADER);
    header.writeUInt32LE(1_700_000_000 + number, 0);
    header.writeUInt32LE(kept, 8);
    header.writeUInt32LE(kept, 12);
    return Buffer.concat([header, packet]);
  }
  const length = PCAPNG_FRAME + Math.ceil(kept / 4) * 4;
  const block = Buffer.alloc(length);
  block.writeUInt32LE(6, 0);
  block.writeUInt32LE(length, 4);
  block.writeUInt32LE(kept, 20);
  block.writeUInt32LE(kept, 24);
  packet.copy(block, 28);
  block.writeUInt32LE(length, length - 4);
  return block;
}

export function recordsOf(from: number, count: number, format: Format = 'pcap', most = 1500): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => recordOf(from + index, format, most)));
}

export class LogScribe {
  readonly #words: Int32Array;
  readonly #octets: Uint8Array;
  readonly #memory: CaptureMemory;
  readonly #chunks: FreeList;
  head: number;
  #reclaimed: number;
  #taken: number;

  constructor(memory: CaptureMemory, index: number, chunks = new FreeList(memory.chunks), head = 0) {
    this.#memory = memory;
    this.#words = new Int32Array(memory.words, index * LOG_WORDS * 4, LOG_WORDS);
    this.#octets = new Uint8Array(memory.bytes);
    this.#chunks = chunks;
    this.head = head;
    this.#reclaimed = this.#taken = Math.floor(head / CHUNK_LENGTH);
    if (head > 0) {
      Atomics.store(this.#words, LOG.reclaimed, this.#reclaimed & MASK);
      for (const word of [LOG.head, LOG.drained]) Atomics.store(this.#words, word, head | 0);
    }
  }

  /** False when there is no room. It is seen after `publish`. */
  write(record: Uint8Array): boolean {
    const end = this.head + record.length;
    while (this.#taken * CHUNK_LENGTH < end) if (!this.#takeChunk()) return false;
    for (let done = 0; done < record.length;) {
      const position = this.head + done;
      const part = Math.min(record.length - done, CHUNK_LENGTH - (position % CHUNK_LENGTH));
      this.#octets.set(record.subarray(done, done + part), this.#offset(position));
      done += part;
    }
    this.head = end;
    return true;
  }

  publish(): void {
    Atomics.store(this.#words, LOG.head, this.head | 0);
  }

  /** Writes and publishes; fails when there is no room. */
  put(...records: readonly Uint8Array[]): void {
    for (const record of records) if (!this.write(record)) throw new Error('the log is full');
    this.publish();
  }

  #offset(position: number): number {
    const slot = Math.floor(position / CHUNK_LENGTH) % CHUNKS_A_LOG;
    const chunk = this.#words[LOG.chunks + slot] ?? NO_CHUNK;
    return this.#memory.start + chunk * CHUNK_LENGTH + (position % CHUNK_LENGTH);
  }

  #takeChunk(): boolean {
    const chunk = this.#reclaim() ?? (this.#hasSlot() ? this.#chunks.take() : undefined);
    if (chunk === undefined) return false;
    this.#words[LOG.chunks + (this.#taken % CHUNKS_A_LOG)] = chunk;
    this.#taken++;
    return true;
  }

  #hasSlot(): boolean {
    return this.#taken - this.#reclaimed < CHUNKS_A_LOG;
  }

  #reclaim(): number | undefined {
    const oldest = this.#reclaimed;
    if (this.#taken - oldest < HISTORY) return undefined;
    const undrained = (this.head - Atomics.load(this.#words, LOG.drained)) >>> 0;
    if ((oldest + 1) * CHUNK_LENGTH > this.head - undrained) return undefined;
    Atomics.store(this.#words, LOG.reclaimed, (oldest + 1) & MASK);
    if (Atomics.load(this.#words, LOG.pin) === (oldest & MASK)) {
      Atomics.store(this.#words, LOG.reclaimed, oldest & MASK);
      return undefined;
    }
    this.#reclaimed++;
    return this.#words[LOG.chunks + (oldest % CHUNKS_A_LOG)];
  }
}
