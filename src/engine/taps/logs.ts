/** The capture logs of one engine: their appenders, their chunks, and the taps that record into them. */
import { CHUNK_LENGTH, MOST_LOGS, type CaptureMemory } from '../../base/memory/capture-memory.js';
import type { FrameMemory } from '../forwarding/frame-memory.js';
import { Aal5Memory } from './aal5-memory.js';
import { ChunkPool } from './chunk-pool.js';
import { LogHeader } from './log-header.js';
import { LogAppender, type LogContext } from './log-appender.js';
import { spanOver } from './byte-span.js';
import { Tap, type TapContext } from './tap.js';
import { TapClock } from './tap-clock.js';
import type { TapPlan } from './tap-plan.js';

/** Room for the largest record, and for the longest description of an interface. */
const SCRATCH_LENGTH = 4 * CHUNK_LENGTH;

export class Logs {
  readonly #captures: CaptureMemory;
  readonly #pool = new ChunkPool();
  readonly #logContext: LogContext;
  readonly #tapContext: TapContext;
  readonly #appenders = new Map<number, LogAppender>();

  /** Resumes the logs of a previous engine; their content stays. */
  constructor(captures: CaptureMemory, memory: FrameMemory, clock = new TapClock()) {
    this.#captures = captures;
    const frames = spanOver(memory.bytes);
    const scratch = spanOver(new Uint8Array(SCRATCH_LENGTH));
    this.#logContext = { memory: frames, start: captures.start, pool: this.#pool, scratch };
    this.#tapContext = { frames, clock, aal5: new Aal5Memory() };
    const held = new Set<number>();
    for (let log = 0; log < MOST_LOGS; log++) {
      if (!new LogHeader(captures, log).isActive) continue;
      const appender = this.#appenderOf(log);
      for (const chunk of appender.chunks()) held.add(chunk);
      clock.notBefore(appender.lastAt);
    }
    this.#pool.fill(captures.chunks, held);
  }

  newTap(plan: TapPlan): Tap {
    return new Tap(plan, this.#appenderOf(plan.log), this.#tapContext);
  }

  /** Gives back the chunks of a log and marks it as not in use. Call after its last tap was closed. */
  release(log: number): void {
    const appender = this.#appenders.get(log);
    if (appender !== undefined) {
      this.#appenders.delete(log);
      this.#pool.leave(appender);
      appender.release();
    } else new LogHeader(this.#captures, log).clear();
  }

  #appenderOf(log: number): LogAppender {
    let appender = this.#appenders.get(log);
    if (appender === undefined) {
      const header = new LogHeader(this.#captures, log);
      if (!header.isActive) throw new Error(`log ${log} is not in use`);
      appender = new LogAppender(header, this.#logContext);
      this.#appenders.set(log, appender);
      this.#pool.join(appender);
    }
    return appender;
  }
}
