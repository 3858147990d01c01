/**
 * The filters of a port in one direction. The port counts what happens to every frame: each frame that entered, and each
 * copy made of one, was delivered, was dropped for a cause, or waits.
 */
import { COUNTER, hitCounter, type FilterWay } from '../../base/memory/port-counters.js';
import type { BpfProgram, Matcher } from '../wire/bpf.js';
import type { Batch } from '../forwarding/port.js';
import { Corrupter } from './corrupter.js';
import { Duplicator } from './duplicator.js';
import { STAGE_ORDER, type FilterStage } from './filter-plan.js';
import { RandomStream } from './random-stream.js';
import { anyOf, byChance, everyNth, Sieve } from './sieve.js';
import type { Stage } from './stage.js';
import { TimedStage, type HeldFrames, type TimedContext } from './timed-stage.js';
import { Reordering, SerialLine, WanderingDelay, type Timing } from './delays.js';

interface ChainContext extends Omit<TimedContext, 'hits'> {
  /** The way of the frames that pass, under which hits are counted. */
  readonly way: FilterWay;
  /** Each stage derives its own random numbers from it, whichever other stages there are. */
  readonly seed: number;
  /** Compiles BPF programs for the frames of the port. */
  readonly matcherOf: (program: BpfProgram) => Matcher;
  /** Takes frames that have passed: at most one batch for each that entered, and more batches at due times. */
  readonly deliver: (frames: Batch) => void;
}

export class FilterChain {
  readonly #context: ChainContext;
  readonly #first: Stage;
  readonly #last: Stage;
  /** The frames that stages hold, from the last stage to the first. */
  readonly #held: HeldFrames[] = [];

  constructor(stages: readonly FilterStage[], context: ChainContext) {
    this.#context = context;
    this.#last = { pass: context.deliver };
    const fromLast = [...stages].sort((a, b) => placeOf(b) - placeOf(a));
    this.#first = fromLast.reduce((next, stage) => this.#inFrontOf(next, stage), this.#last);
  }

  /** Takes frames. Those that pass are delivered at once or later, the others are counted by cause. */
  pass(frames: Batch): void {
    this.#first.pass(frames);
  }

  /** Delivers all waiting frames, in order. Call once; nothing may follow. */
  flush(): void {
    for (const held of this.#held) held.flush(this.#last);
  }

  /** Drops all waiting frames, counted as held back. Call once; nothing may follow. */
  drop(): void {
    for (const held of this.#held) held.drop();
  }

  #inFrontOf(next: Stage, stage: FilterStage): Stage {
    const context = { ...this.#context, hits: hitCounter(this.#context.way, placeOf(stage)) };
    const random = new RandomStream(context.seed, placeOf(stage));
    switch (stage.type) {
      case 'bpf':
        return new Sieve(anyOf(stage.programs.map(context.matcherOf)), COUNTER.filter_bpf, context, next);
      case 'frequency_drop':
        return new Sieve(everyNth(stage.every), COUNTER.filter_frequency, context, next);
      case 'packet_loss':
        return new Sieve(byChance(stage.percent, random), COUNTER.filter_loss, context, next);
      case 'corrupt':
        return new Corrupter(stage.percent, random, context, next);
      case 'duplicate': {
        const duplicator = new Duplicator(stage.percent, random, context, next);
        this.#held.push(duplicator.surplus);
        return duplicator;
      }
      case 'reorder':
        return this.#timed(
          new Reordering(stage.percent, stage.holdMs, random),
          COUNTER.delay_full,
          context,
          next,
        );
      case 'rate':
        return this.#timed(new SerialLine(stage.kilobits, stage.queueMs), COUNTER.rate_full, context, next);
      case 'delay':
        return this.#timed(
          new WanderingDelay(stage.latencyMs, stage.jitterMs, random),
          COUNTER.delay_full,
          context,
          next,
        );
    }
  }

  #timed(
    timing: Timing,
    cause: typeof COUNTER.delay_full | typeof COUNTER.rate_full,
    context: TimedContext,
    next: Stage,
  ): Stage {
    const stage = new TimedStage(timing, cause, context, next);
    this.#held.push(stage.held);
    return stage;
  }
}

function placeOf({ type }: FilterStage): number {
  return STAGE_ORDER.indexOf(type);
}
