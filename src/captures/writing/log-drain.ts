/**
 * Drains one log to its file, or to a ring of files. The position `drained` is always a boundary between records, and
 * the files have at least everything before it, so readers of the files stop there. Runs in a writer loop.
 */
import { ftruncateSync, writevSync } from 'node:fs';
import { LOG } from '../../base/memory/capture-memory.js';
import { createNext, finish, realFolder } from './ring-files.js';
import type { DiskRoom } from './disk-room.js';
import type { LogMemory } from '../log/log-reader.js';
import type { LogPlan, OpenSegment, RecordFormat } from './writer-orders.js';
import { RECORD_HEADER_LENGTH } from '../../engine/wire/pcap.js';

/** Bytes are written when so many wait, or the oldest is so old; as a loop looks every 20 ms, up to 40 ms more. */
const FLUSH_LENGTH = 64 * 1024;
const FLUSH_MS = 50;

export class LogDrain {
  readonly #plan: LogPlan;
  readonly #log: LogMemory;
  readonly #room: DiskRoom;
  readonly #folder: string;
  readonly #onRotated: (segment: OpenSegment) => void;
  #segment: OpenSegment;
  #position: number;
  /** When bytes were first seen to wait. */
  #waitsSince: number | undefined;

  constructor(
    plan: LogPlan,
    log: LogMemory,
    room: DiskRoom,
    state: { readonly segment: OpenSegment; readonly position: number },
    onRotated: (segment: OpenSegment) => void,
  ) {
    this.#plan = plan;
    this.#log = log;
    this.#room = room;
    this.#folder = realFolder(plan);
    this.#segment = state.segment;
    this.#position = state.position;
    this.#onRotated = onRotated;
  }

  /** Cuts off bytes that a loop wrote but did not note before it died. */
  cut(): void {
    ftruncateSync(this.#segment.fd, this.#offset(this.#position));
  }

  /** Writes the waiting bytes when it is time; returns how many it wrote. */
  look(now: number): number {
    const head = this.#log.position(LOG.head, this.#position);
    const waiting = head - this.#position;
    if (waiting === 0) return 0;
    this.#waitsSince ??= now;
    if (waiting < FLUSH_LENGTH && now - this.#waitsSince < FLUSH_MS) return 0;
    this.#waitsSince = undefined;
    this.#drainTo(head, now);
    return waiting;
  }

  /** Writes all waiting bytes. */
  finish(now: number): void {
    this.#drainTo(this.#log.position(LOG.head, this.#position), now);
    finish(this.#segment.fd);
  }

  #drainTo(head: number, now: number): void {
    if (this.#position < head) this.#room.check(this.#folder, now);
    while (this.#position < head) {
      const end = this.#endOfFile(head);
      if (end > this.#position) this.#write(end);
      else this.#rotate();
    }
  }

  /** The boundary up to which records go into the current file. An empty file takes one record, however long. */
  #endOfFile(head: number): number {
    const { files, fileBytes, header, format } = this.#plan;
    const { start } = this.#segment;
    const limit = start + fileBytes - header.length;
    if (files <= 1 || head <= limit) return head;
    const end = lastBoundary(this.#log, format, this.#position, limit);
    return end === start ? nextBoundary(this.#log, format, start) : end;
  }

  #rotate(): void {
    const fd = createNext(this.#plan, this.#plan.header, this.#segment.fd);
    finish(this.#segment.fd);
    this.#segment = { fd, start: this.#position };
    this.#onRotated(this.#segment);
  }

  #write(end: number): void {
    const { fd } = this.#segment;
    let written = this.#position;
    try {
      while (written < end) {
        const count = writevSync(fd, this.#log.views(written, end), this.#offset(written));
        if (count === 0) throw new Error('the disk took nothing');
        written += count;
      }
    } catch (error) {
      this.#note(lastBoundary(this.#log, this.#plan.format, this.#position, written));
      this.cut();
      throw error;
    }
    this.#note(end);
  }

  #offset(position: number): number {
    return this.#plan.header.length + position - this.#segment.start;
  }

  #note(position: number): void {
    this.#position = position;
    // Stored after the bytes have been read, because the engine may reuse their chunks from here on.
    this.#log.store(LOG.drained, position | 0);
  }
}

/** The offset of the kept length in the header of a pcap record. */
const KEPT_LENGTH = 8;
/** The shortest pcapng block, and the offset of its length. */
const PCAPNG = { leastLength: 12, length: 4 } as const;

/** The end of the record that begins at `from`. */
export function nextBoundary(log: LogMemory, format: RecordFormat, from: number): number {
  if (format === 'pcap') return from + RECORD_HEADER_LENGTH + log.uint32(from + KEPT_LENGTH);
  const length = log.uint32(from + PCAPNG.length);
  if (length < PCAPNG.leastLength)
    throw new RangeError(`a block of the log claims to be ${length} bytes long`);
  return from + length;
}

/** The last boundary at or before `limit`, starting at the boundary `from`. */
export function lastBoundary(log: LogMemory, format: RecordFormat, from: number, limit: number): number {
  const least = format === 'pcap' ? RECORD_HEADER_LENGTH : PCAPNG.leastLength;
  let boundary = from;
  while (boundary + least <= limit) {
    const next = nextBoundary(log, format, boundary);
    if (next > limit) break;
    boundary = next;
  }
  return boundary;
}
