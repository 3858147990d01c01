/** Passes some frames on with a burst of errors, which changes at least one bit. */
import { COUNTER, type HitCounter } from '../../base/memory/port-counters.js';
import type { Batch, Port } from '../forwarding/port.js';
import type { FrameMemory } from '../forwarding/frame-memory.js';
import type { RandomStream } from './random-stream.js';
import type { Stage, StageContext } from './stage.js';

/** In bytes. */
const LONGEST_BURST = 4;

export class Corrupter implements Stage {
  readonly #percent: number;
  readonly #random: RandomStream;
  readonly #port: Port;
  readonly #hits: HitCounter;
  readonly #memory: FrameMemory;
  readonly #next: Stage;

  constructor(percent: number, random: RandomStream, { port, memory, hits }: StageContext, next: Stage) {
    this.#percent = percent;
    this.#random = random;
    this.#port = port;
    this.#hits = hits;
    this.#memory = memory;
    this.#next = next;
  }

  /** Frames that find no room for a copy are dropped (`no_memory`). */
  pass(frames: Batch): void {
    const { offsets, lengths, count } = frames;
    let kept = 0;
    let altered = 0;
    for (let index = 0; index < count; index++) {
      let offset = offsets[index] ?? 0;
      const length = lengths[index] ?? 0;
      if (this.#random.chance(this.#percent) && length > 0) {
        offset = this.#alteredCopy(offset, length);
        if (offset < 0) continue;
        altered++;
      }
      offsets[kept] = offset;
      lengths[kept] = length;
      kept++;
    }
    frames.count = kept;
    this.#port.count(COUNTER.corrupted, altered);
    this.#port.count(this.#hits, altered);
    if (kept < count) this.#port.count(COUNTER.no_memory, count - kept);
    if (kept > 0) this.#next.pass(frames);
  }

  #alteredCopy(offset: number, length: number): number {
    const { bytes } = this.#memory;
    const copy = this.#memory.take(length);
    if (copy < 0) return copy;
    bytes.copyWithin(copy, offset, offset + length);
    const burst = 1 + this.#random.below(Math.min(LONGEST_BURST, length));
    const start = copy + this.#random.below(length - burst + 1);
    for (let at = start; at < start + burst; at++) {
      bytes[at] = (bytes[at] ?? 0) ^ (1 + this.#random.below(255));
    }
    return copy;
  }
}
