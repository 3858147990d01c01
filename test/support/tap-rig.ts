/** Taps on the bench: memory for logs, a clock that is set, and a drainer that takes what is in a log. */
import {
  CHUNK_LENGTH,
  LOG,
  LOG_COUNTER,
  LOG_COUNTERS,
  LOG_WORDS,
} from '../../src/base/memory/capture-memory.js';
import {
  newCaptureMemory,
  NO_CHUNK,
  NO_PIN,
  type CaptureMemory,
} from '../../src/base/memory/capture-memory.js';
import { Batch } from '../../src/engine/forwarding/port.js';
import { FrameMemory } from '../../src/engine/forwarding/frame-memory.js';
import { Logs } from '../../src/engine/taps/logs.js';
import { TapClock } from '../../src/engine/taps/tap-clock.js';
import type { TapPlan } from '../../src/engine/taps/tap-plan.js';

export const FRAME_ROOM = 256 * 1024;
/** 2026-11-21, 12:00 UTC. */
export const NOON = Date.UTC(2026, 10, 21, 12);

type Words = Omit<typeof LOG, 'chunks'>;

export class TapRig {
  readonly memory: FrameMemory;
  readonly captures: CaptureMemory;
  readonly words: Int32Array;
  readonly counters: Float64Array;
  /** Milliseconds since noon. */
  time = 0;
  logs: Logs;

  /** The workspace of frame memory reaches from `start` to `end`. */
  constructor(chunks = 128, start = 0, end = FRAME_ROOM) {
    const bytes = new SharedArrayBuffer(end + chunks * CHUNK_LENGTH);
    this.memory = new FrameMemory(new Uint8Array(bytes), start, end);
    this.captures = newCaptureMemory(bytes, end);
    this.words = new Int32Array(this.captures.words);
    this.counters = new Float64Array(this.captures.counters);
    this.logs = this.newLogs();
  }

  /** An engine that comes after the one before. */
  restart(): void {
    this.logs = this.newLogs();
  }

  newLogs(): Logs {
    const clock = new TapClock(
      () => this.time,
      () => NOON + this.time,
    );
    return new Logs(this.captures, this.memory, clock);
  }

  prepare(log: number): void {
    this.counters.fill(0, log * LOG_COUNTERS, (log + 1) * LOG_COUNTERS);
    this.words.fill(0, log * LOG_WORDS, log * LOG_WORDS + LOG.chunks);
    this.words.fill(NO_CHUNK, log * LOG_WORDS + LOG.chunks, (log + 1) * LOG_WORDS);
    this.set(log, 'pin', NO_PIN);
    this.set(log, 'active', 1);
  }

  word(log: number, word: keyof Words): number {
    return Atomics.load(this.words, log * LOG_WORDS + LOG[word]);
  }

  set(log: number, word: keyof Words, value: number): void {
    Atomics.store(this.words, log * LOG_WORDS + LOG[word], value);
  }

  counter(log: number, counter: keyof typeof LOG_COUNTER): number {
    return this.counters[log * LOG_COUNTERS + LOG_COUNTER[counter]] ?? 0;
  }

  /** The octets of a log in memory from a position on; the low 32 bits of positions are enough. */
  look(log: number, from: number, to = this.word(log, 'head')): Buffer {
    const parts: Buffer[] = [];
    for (let position = from | 0; position !== to;) {
      const slot = (position >>> 16) % 64;
      const chunk = Atomics.load(this.words, log * LOG_WORDS + LOG.chunks + slot);
      if (chunk === NO_CHUNK) throw new Error(`there is no chunk at ${position}`);
      const within = position & (CHUNK_LENGTH - 1);
      const length = Math.min(CHUNK_LENGTH - within, (to - position) >>> 0);
      const start = this.captures.start + chunk * CHUNK_LENGTH + within;
      parts.push(Buffer.from(this.memory.bytes.slice(start, start + length)));
      position = (position + length) | 0;
    }
    return Buffer.concat(parts);
  }

  /** Takes what nobody has taken. */
  drain(log: number): Buffer {
    const head = this.word(log, 'head');
    const octets = this.look(log, this.word(log, 'drained'), head);
    this.set(log, 'drained', head);
    return octets;
  }

  /** Frames that lie in frame memory until the next call. */
  batch(...frames: readonly Uint8Array[]): Batch {
    this.memory.endTurn();
    const batch = new Batch();
    for (const frame of frames) {
      const offset = this.memory.take(frame.length);
      if (offset < 0) throw new RangeError('so many frames have no room');
      this.memory.bytes.set(frame, offset);
      batch.add(offset, frame.length);
    }
    return batch;
  }
}

export function planOf(changes: Partial<TapPlan> = {}): TapPlan {
  return {
    log: 0,
    format: 'pcap',
    packets: 'frames',
    opening: undefined,
    snaplen: 262_144,
    direction: 'both',
    sample: 1,
    bpf: undefined,
    maxPackets: 0,
    maxOctets: 0,
    ...changes,
  };
}

/** A record of a classic capture, read back. */
export interface PcapRecord {
  readonly seconds: number;
  readonly nanoseconds: number;
  readonly original: number;
  readonly data: Buffer;
}

/** Throws when the octets are not whole records. */
export function pcapRecords(octets: Buffer): PcapRecord[] {
  const records: PcapRecord[] = [];
  for (let at = 0; at < octets.length;) {
    const kept = octets.readUInt32LE(at + 8);
    if (at + 16 + kept > octets.length) throw new Error(`the record at ${at} is cut off`);
    records.push({
      seconds: octets.readUInt32LE(at),
      nanoseconds: octets.readUInt32LE(at + 4),
      original: octets.readUInt32LE(at + 12),
      data: octets.subarray(at + 16, at + 16 + kept),
    });
    at += 16 + kept;
  }
  return records;
}
