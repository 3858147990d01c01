/**
 * The filters that frames of a port pass on one way. What happens to every frame is counted at the port: of those
 * that entered, and the copies made of them, each has been delivered, was dropped for a cause, or waits.
 */
import { COUNTER } from '../../base/memory/port-counters.js';
import type { BpfProgram, Matcher } from '../wire/bpf.js';
import type { Batch } from '../forwarding/port.js';
import { Corrupter } from './corrupter.js';
import { Duplicator } from './duplicator.js';
import { STAGE_ORDER, type FilterStage } from './filter-plan.js';
import type { Hold } from './hold.js';
import { RandomStream } from './random-stream.js';
import { anyOf, byChance, everyNth, Sieve } from './sieve.js';
import type { Stage } from './stage.js';
import { TimedStage, type TimedSurroundings } from './timed-stage.js';
import { Laggards, SerialLine, type Timing } from './timing.js';
import { WanderingDelay } from './wandering-delay.js';

export interface ChainSurroundings extends TimedSurroundings {
  /** Each stage has random numbers of its own, whatever other stages there are. */
  readonly seed: number;
  /** How expressions see the frames of the port. */
  readonly matcherOf: (program: BpfProgram) => Matcher;
  /** Takes what has passed: one batch at most for each that entered, and others at due times. */
  readonly deliver: (frames: Batch) => void;
}

export class FilterChain {
  readonly #surroundings: ChainSurroundings;
  readonly #first: Stage;
  readonly #last: Stage;
  /** Where frames wait; those behind others come first. */
  readonly #holds: Hold[] = [];

  constructor(stages: readonly FilterStage[], surroundings: ChainSurroundings) {
    this.#surroundings = surroundings;
    this.#last = { pass: surroundings.deliver };
    const fromLast = [...stages].sort((a, b) => placeOf(b) - placeOf(a));
    this.#first = fromLast.reduce((next, stage) => this.#inFrontOf(next, stage), this.#last);
  }

  /** Takes frames: those that pass are delivered at once or later, the others counted by their cause. */
  pass(frames: Batch): void {
    this.#first.pass(frames);
  }

  /** Delivers everything that waits, in order. The chain is not used any more. */
  flush(): void {
    for (const hold of this.#holds) hold.flush(this.#last);
  }

  /** Drops everything that waits, counted as held back. The chain is not used any more. */
  drop(): void {
    for (const hold of this.#holds) hold.drop();
  }

  #inFrontOf(next: Stage, stage: FilterStage): Stage {
    const surroundings = this.#surroundings;
    const random = new RandomStream(surroundings.seed, placeOf(stage));
    switch (stage.type) {
      case 'bpf':
        return new Sieve(
          anyOf(stage.programs.map(surroundings.matcherOf)),
          COUNTER.filter_bpf,
          surroundings,
          next,
        );
      case 'frequency_drop':
        return new Sieve(everyNth(stage.every), COUNTER.filter_frequency, surroundings, next);
      case 'packet_loss':
        return new Sieve(byChance(stage.percent, random), COUNTER.filter_loss, surroundings, next);
      case 'corrupt':
        return new Corrupter(stage.percent, random, surroundings, next);
      case 'duplicate': {
        const duplicator = new Duplicator(stage.percent, random, surroundings, next);
        this.#holds.push(duplicator.surplus);
        return duplicator;
      }
      case 'reorder':
        return this.#timed(new Laggards(stage.percent, stage.holdMs, random), COUNTER.delay_full, next);
      case 'rate':
        return this.#timed(new SerialLine(stage.kilobits, stage.queueMs), COUNTER.rate_full, next);
      case 'delay':
        return this.#timed(
          new WanderingDelay(stage.latencyMs, stage.jitterMs, random),
          COUNTER.delay_full,
          next,
        );
    }
  }

  #timed(timing: Timing, cause: typeof COUNTER.delay_full | typeof COUNTER.rate_full, next: Stage): Stage {
    const stage = new TimedStage(timing, cause, this.#surroundings, next);
    this.#holds.push(stage.hold);
    return stage;
  }
}

function placeOf({ type }: FilterStage): number {
  return STAGE_ORDER.indexOf(type);
}
