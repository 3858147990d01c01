/**
 * Drains one log to its file, or to a ring of files. `drained` is always a boundary between records, and what lies
 * in the files is never less than that: who reads them stops there. Runs in a writer loop.
 */
import { ftruncateSync, writevSync } from 'node:fs';
import { LOG } from '../../base/memory/capture-memory.js';
import { createNext, finish, realFolder } from './capture-place.js';
import type { DiskRoom } from './disk-room.js';
import type { LogMemory } from '../log/log-memory.js';
import { lastBoundary, nextBoundary } from '../log/record-boundaries.js';
import type { LogPlan, OpenSegment } from './writer-orders.js';

/** What waits is written when it is so much, or so old. A loop looks every 20 ms, which comes on top twice. */
const FLUSH_LENGTH = 64 * 1024;
const FLUSH_MS = 50;

export class LogWriter {
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
    const { files, fileOctets, header, format } = this.#plan;
    const { start } = this.#segment;
    const limit = start + fileOctets - header.length;
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
        const octets = writevSync(fd, this.#log.views(written, end), this.#offset(written));
        if (octets === 0) throw new Error('the disk took nothing');
        written += octets;
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
