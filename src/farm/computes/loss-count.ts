/**
 * The frames that were lost between two hosts: those that one end has sent and the other has not received. The counters of both
 * ends are read twice, everywhere once before anywhere again. So what was sent by the first reading and not received by
 * the second is lost for certain, and frames on their way are not taken for lost.
 */

/** The counters of one end: frames since it was attached or since its counters were reset. */
export interface EndCounts {
  /** The moment from which it counts, by a clock of its host: another one means that it has begun anew. */
  readonly since: number;
  readonly sent: number;
  readonly received: number;
}

/** Both ends of a link, as they were read first and again. */
export interface TwoReadings {
  readonly first: readonly [EndCounts, EndCounts];
  readonly again: readonly [EndCounts, EndCounts];
}

interface Base {
  readonly since: readonly [number, number];
  /** The most that was missing each way when the ends were first read. */
  readonly missing: readonly [number, number];
}

const WAYS = [0, 1] as const;

export class LossCount {
  /** Frames that were lost before an end began anew. */
  #before = 0;
  #base: Base | undefined;
  #total = 0;

  /** The frames that were lost both ways since the first reading; undefined before that. It never falls. */
  get total(): number | undefined {
    return this.#base && this.#total;
  }

  read({ first, again }: TwoReadings): void {
    const since = [again[0].since, again[1].since] as const;
    if (!isSame(since, [first[0].since, first[1].since])) return;
    if (this.#base === undefined || !isSame(this.#base.since, since)) {
      this.#before = this.#total;
      const missing = WAYS.map((way) => again[way].sent - first[way === 0 ? 1 : 0].received);
      this.#base = { since, missing: [missing[0] ?? 0, missing[1] ?? 0] };
      return;
    }
    let lost = 0;
    for (const way of WAYS) {
      const missing = first[way].sent - again[way === 0 ? 1 : 0].received;
      lost += Math.max(0, missing - this.#base.missing[way]);
    }
    this.#total = Math.max(this.#total, this.#before + lost);
  }
}

function isSame(one: readonly [number, number], other: readonly [number, number]): boolean {
  return one[0] === other[0] && one[1] === other[1];
}
