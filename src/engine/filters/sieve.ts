/** A stage that drops frames by a verdict, and counts them. */
import type { Counter, HitCounter } from '../../base/memory/port-counters.js';
import type { Batch, Port } from '../forwarding/port.js';
import type { FrameMemory } from '../forwarding/frame-memory.js';
import type { RandomStream } from './random-stream.js';
import type { Stage, StageContext } from './stage.js';

/** Returns whether to drop a frame. Called once for each frame, in order. */
type Verdict = (bytes: Uint8Array, offset: number, length: number) => boolean;

export class Sieve implements Stage {
  readonly #drops: Verdict;
  readonly #cause: Counter;
  readonly #hits: HitCounter;
  readonly #port: Port;
  readonly #memory: FrameMemory;
  readonly #next: Stage;

  constructor(drops: Verdict, cause: Counter, { port, memory, hits }: StageContext, next: Stage) {
    this.#drops = drops;
    this.#cause = cause;
    this.#hits = hits;
    this.#port = port;
    this.#memory = memory;
    this.#next = next;
  }

  pass(frames: Batch): void {
    const { offsets, lengths, count } = frames;
    const { bytes } = this.#memory;
    let kept = 0;
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      const length = lengths[index] ?? 0;
      if (this.#drops(bytes, offset, length)) continue;
      offsets[kept] = offset;
      lengths[kept] = length;
      kept++;
    }
    frames.count = kept;
    if (kept < count) {
      this.#port.count(this.#cause, count - kept);
      this.#port.count(this.#hits, count - kept);
    }
    if (kept > 0) this.#next.pass(frames);
  }
}

export function anyOf(verdicts: readonly Verdict[]): Verdict {
  const [first] = verdicts;
  if (verdicts.length === 1 && first !== undefined) return first;
  return (bytes, offset, length) => {
    for (const drops of verdicts) if (drops(bytes, offset, length)) return true;
    return false;
  };
}

/** Drops each Nth frame; -1 drops all, like 1. */
export function everyNth(every: number): Verdict {
  let passed = 0;
  return () => {
    passed++;
    if (passed < every) return false;
    passed = 0;
    return true;
  };
}

export function byChance(percent: number, random: RandomStream): Verdict {
  return () => random.chance(percent);
}
