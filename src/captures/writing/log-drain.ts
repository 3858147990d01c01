/**
 * Drains one log to its file, or to a ring of files. `drained` is always a boundary between records, and what lies
 * in the files is never less than that: who reads them stops there. Runs in a writer loop.
 */
import { ftruncateSync, writevSync } from 'node:fs';
import { LOG } from '../../base/memory/capture-memory.js';
import { createNext, finish, realFolder } from './ring-files.js';
import type { DiskRoom } from './disk-room.js';
import type { LogMemory } from '../log/log-reader.js';
import type { LogPlan, OpenSegment, RecordFormat } from './writer-orders.js';
import { RECORD_HEADER_LENGTH } from '../../engine/wire/pcap.js';

/** What waits is written when it is so much, or so old. A loop looks every 20 ms, which comes on top twice. */
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
  /** When something was first seen to wait. */
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

  /** Takes away what was written and not noted by a writer that died. */
  cut(): void {
    ftruncateSync(this.#segment.fd, this.#offset(this.#position));
  }

  /** Writes what waits, when it is time; returns how much that was. */
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

  /** Writes everything there is. */
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

  /** The boundary up to which records go into the present file; one record always fits into an empty one. */
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
    // After the octets have been read: the engine may reuse their chunks from here on.
    this.#log.store(LOG.drained, position | 0);
  }
}

/** Where the records of a log begin and end. Both functions start at a boundary. */

/** Where the kept length stands in what is before a packet of a pcap file. */
const KEPT_LENGTH = 8;
/** Of a pcapng block: the least that it is long, and where its length stands. */
const PCAPNG = { leastLength: 12, length: 4 } as const;

export function nextBoundary(log: LogMemory, format: RecordFormat, from: number): number {
  if (format === 'pcap') return from + RECORD_HEADER_LENGTH + log.uint32(from + KEPT_LENGTH);
  const length = log.uint32(from + PCAPNG.length);
  if (length < PCAPNG.leastLength)
    throw new RangeError(`a block of the log claims to be ${length} octets long`);
  return from + length;
}

/** The last boundary that is not above `limit`, of what has been written. */
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
