/** Sees projects begin to lose frames, and stop, by looks at the counters of their ports. No frame is ever waited for. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { COUNTER, type CounterName } from '../../base/memory/port-counters.js';
import type { CountedLab } from '../../engine/control/engines.js';
import type { Remember } from '../../lab/history-event.js';

const LOOK_MS = 10_000;
/** A project that has lost nothing in so many looks has stopped to. */
const CALM_LOOKS = 6;
/** The event loop is given back after so much of a look. */
const SLICE_MS = 1;

/**
 * The causes of losses that nobody has ordered. Filters, suspended links, and what a switch drops in the course of its work are
 * not among them.
 */
const CAUSES = [
  'malformed',
  'bad_hec_refused',
  'hop_limit',
  'queue_full',
  'no_memory',
  'too_big_for_route',
  'send_failed',
  'send_buffer_full',
  'rate_full',
  'delay_full',
] as const satisfies readonly CounterName[];

interface DropWatchOptions {
  readonly labs: () => Iterable<CountedLab>;
  readonly remember: Remember;
}

/** The losses of a project by one cause. */
interface Loss {
  before: number;
  /** Frames lost since it began; undefined when the project loses none. */
  lost: number | undefined;
  calmLooks: number;
}

export class DropWatch {
  readonly #options: DropWatchOptions;
  #losses = new Map<string, Map<string, Loss>>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(options: DropWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const losses = new Map<string, Map<string, Loss>>();
    let begun = performance.now();
    for (const { lab, sums } of this.#options.labs()) {
      losses.set(lab, this.#compare(lab, sums));
      if (performance.now() - begun < SLICE_MS) continue;
      await nextTurn();
      begun = performance.now();
    }
    this.#losses = losses;
    this.#isLooking = false;
  }

  #compare(lab: string, sums: Float64Array): Map<string, Loss> {
    const known = this.#losses.get(lab);
    return new Map(
      CAUSES.map((cause) => {
        const now = sums[COUNTER[cause]] ?? 0;
        const loss = known?.get(cause) ?? { before: 0, lost: undefined, calmLooks: 0 };
        this.#follow(lab, cause, loss, now);
        return [cause, loss];
      }),
    );
  }

  /** A sum falls when ports go, or are counted from zero. */
  #follow(lab: string, cause: string, loss: Loss, now: number): void {
    const { remember } = this.#options;
    const more = Math.max(0, now - loss.before);
    loss.before = now;
    if (more > 0) {
      if (loss.lost === undefined)
        remember(lab, { kind: 'drops_began', message: `Frames are lost: ${cause}` });
      loss.lost = (loss.lost ?? 0) + more;
      loss.calmLooks = 0;
    } else if (loss.lost !== undefined && ++loss.calmLooks >= CALM_LOOKS) {
      remember(lab, {
        kind: 'drops_ended',
        message: `No frame is lost any more: ${cause}, ${loss.lost} were`,
      });
      loss.lost = undefined;
    }
  }
}
