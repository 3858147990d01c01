/** The logs of one engine: who writes them, and the chunks that they lie in. */
import { CHUNK_LENGTH, MOST_LOGS, type CaptureMemory } from '../../base/memory/capture-memory.js';
import type { FrameMemory } from '../forwarding/frame-memory.js';
import { Aal5Memory } from './aal5-memory.js';
import { ChunkPool } from './chunk-pool.js';
import { LogWords } from './log-words.js';
import { LogWriter, type LogPlace } from './log-writer.js';
import { octetsOver } from './octets.js';
import { Tap, type TapPlace } from './tap.js';
import { TapClock } from './tap-clock.js';
import type { TapPlan } from './tap-plan.js';

/** The largest packet with all that stands around it, and the longest description of an interface. */
const SCRATCH_LENGTH = 4 * CHUNK_LENGTH;

export class Logs {
  readonly #captures: CaptureMemory;
  readonly #pool = new ChunkPool();
  readonly #logPlace: LogPlace;
  readonly #tapPlace: TapPlace;
  readonly #writers = new Map<number, LogWriter>();

  /** What an engine before this one has written stays as it is, and is gone on with. */
  constructor(captures: CaptureMemory, memory: FrameMemory, clock = new TapClock()) {
    this.#captures = captures;
    const octets = octetsOver(memory.bytes);
    const scratch = octetsOver(new Uint8Array(SCRATCH_LENGTH));
    this.#logPlace = { octets, start: captures.start, pool: this.#pool, scratch };
    this.#tapPlace = { octets, clock, aal5: new Aal5Memory() };
    const held = new Set<number>();
    for (let log = 0; log < MOST_LOGS; log++) {
      if (!new LogWords(captures, log).isActive) continue;
      const writer = this.#writerOf(log);
      for (const chunk of writer.chunks()) held.add(chunk);
      clock.notBefore(writer.lastAt);
    }
    this.#pool.fill(captures.chunks, held);
  }

  newTap(plan: TapPlan): Tap {
    return new Tap(plan, this.#writerOf(plan.log), this.#tapPlace);
  }

  /** Gives the chunks of a log back, and says that it is not in use any more. Comes after its last tap. */
  release(log: number): void {
    const writer = this.#writers.get(log);
    if (writer !== undefined) {
      this.#writers.delete(log);
      this.#pool.leave(writer);
      writer.release();
    } else new LogWords(this.#captures, log).clear();
  }

  #writerOf(log: number): LogWriter {
    let writer = this.#writers.get(log);
    if (writer === undefined) {
      const words = new LogWords(this.#captures, log);
      if (!words.isActive) throw new Error(`log ${log} is not in use`);
      writer = new LogWriter(words, this.#logPlace);
      this.#writers.set(log, writer);
      this.#pool.join(writer);
    }
    return writer;
  }
}
