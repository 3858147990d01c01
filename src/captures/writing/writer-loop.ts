/**
 * A loop that drains logs in turn, in a thread of its own. A log that cannot be written is reported and given up; the
 * others go on.
 */
import { closeSync } from 'node:fs';
import { Refusal, refusals } from '../../base/errors/errors.js';
import type { CaptureMemory } from '../../base/memory/capture-memory.js';
import type { LoopMessage } from '../../base/threads/loop-run.js';
import { type LoopWork, runLoop } from '../../base/threads/loop-task.js';
import type { TaskTable } from '../../base/threads/task.js';
import { openFirst, realFolder } from './ring-files.js';
import { LogMemory } from '../log/log-reader.js';
import { DiskRoom } from './disk-room.js';
import { LogDrain } from './log-drain.js';
import type {
  AdoptDrain,
  BeginDrain,
  EndDrain,
  LogPlan,
  OpenSegment,
  WriterReport,
  WriterStart,
} from './writer-orders.js';

/** How long a loop with logs waits between rounds: less after a round in which a log had this many bytes. */
const WAIT_MS = 20;
const SHORT_WAIT_MS = 4;
const MUCH = 64 * 1024;
/** The next round begins at once after a log had this many bytes. */
const VERY_MUCH = 1024 * 1024;

export class WriterLoop implements LoopWork {
  readonly #memories: readonly CaptureMemory[];
  readonly #room: DiskRoom;
  readonly #tell: (message: WriterReport) => void;
  readonly #writers = new Map<number, LogDrain>();

  constructor(memories: readonly CaptureMemory[], floorBytes: number, tell: (message: WriterReport) => void) {
    this.#memories = memories;
    this.#room = new DiskRoom(floorBytes);
    this.#tell = tell;
  }

  readonly tasks = {
    begin: ({ plan, position }: BeginDrain): OpenSegment => {
      this.#room.check(realFolder(plan), performance.now());
      const { fd, end } = openFirst(plan);
      const segment = { fd, start: position - (end - plan.header.length) };
      try {
        this.#writers.set(plan.id, this.#newWriter(plan, segment, position));
      } catch (error) {
        closeSync(segment.fd);
        throw error;
      }
      return segment;
    },

    adopt: ({ plan, segment, position }: AdoptDrain): void => {
      const writer = this.#newWriter(plan, segment, position);
      writer.cut();
      this.#writers.set(plan.id, writer);
    },

    end: ({ id }: EndDrain): void => {
      const writer = this.#writers.get(id);
      // A log that was given up is not here any more, and has been reported.
      if (writer === undefined) return;
      this.#attempt(id, () => {
        writer.finish(performance.now());
      });
      this.#writers.delete(id);
    },
  } satisfies TaskTable;

  /** Looks at every log once. */
  round(now: number): number {
    let most = 0;
    for (const [id, writer] of this.#writers) {
      this.#attempt(id, () => {
        most = Math.max(most, writer.look(now));
      });
    }
    if (this.#writers.size === 0) return Infinity;
    if (most >= VERY_MUCH) return 0;
    return most >= MUCH ? SHORT_WAIT_MS : WAIT_MS;
  }

  /** Writes all waiting bytes of all logs. */
  finish(now: number): void {
    for (const [id, writer] of this.#writers) {
      this.#attempt(id, () => {
        writer.finish(now);
      });
    }
  }

  #newWriter(plan: LogPlan, segment: OpenSegment, position: number): LogDrain {
    const memory = this.#memories[plan.memory];
    if (memory === undefined) throw new RangeError(`there is no memory ${plan.memory}`);
    const log = new LogMemory(memory, plan.log);
    return new LogDrain(plan, log, this.#room, { segment, position }, (next) => {
      this.#tell({ kind: 'rotated', id: plan.id, segment: next });
    });
  }

  #attempt(id: number, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#writers.delete(id);
      this.#tell({ kind: 'trouble', id, reason: reasonOf(error) });
    }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOSPC' || code === 'EDQUOT') return refusals.captureDiskFull().message;
  return refusals.captureUnwritten(error instanceof Error ? error.message : String(error)).message;
}

/** The task of a writer's thread. */
export function runWriter({ memories, floorBytes, ...start }: WriterStart): void {
  const tell = (report: WriterReport): void => {
    const message: LoopMessage<WriterReport> = { kind: 'report', report };
    start.orders.postMessage(message);
  };
  runLoop(start, new WriterLoop(memories, floorBytes, tell));
}
