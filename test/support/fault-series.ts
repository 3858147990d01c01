/** The same request again and again, each time with a fault at another of the operations that it takes. */
import type { Test } from 'tap';
import type { Reply } from './client.js';
import type { FaultMode, FaultPlan } from './fault-plan.js';
import type { Outcome } from './fault-server.js';
import { Random } from './random.js';
import { rounds } from './rounds.js';

/** In the long tests, requests of fewer operations than this meet every fault. */
export const WHOLE_BELOW = rounds(0, 24);

export interface Series {
  readonly of?: FaultPlan['of'];
  readonly modes: readonly FaultMode[];
  /** Before each fault. */
  readonly prepare?: () => Promise<void>;
  readonly act: () => Promise<Reply>;
  /** Returns what is wrong then. The server lives, and the project is open if it can be. */
  readonly check: (outcome: Outcome) => Promise<readonly string[]>;
}

/** How many operations it takes differs a little, as what else the server does comes between. */
const SPARE = 2;

/** A server that faults happen to. */
export interface Faulty {
  under(
    plan: { of?: FaultPlan['of']; at: number; mode: FaultMode },
    act: () => Promise<Reply>,
  ): Promise<Outcome>;
  /** Files of the killed server that are still there, though the project is open again. */
  remains(): string[];
}

export interface SeriesLimits {
  readonly seed: number;
  /** How many faults strike. */
  readonly most: number;
  /**
   * A request of fewer operations meets every fault before each of them, besides `most`: to be killed after an operation
   * is nearly the same as to be killed before the next.
   */
  readonly wholeBelow?: number;
}

/** Tries all faults that the limits allow, in an order that the seed decides; says how many were left out. */
export async function faultSeries(
  t: Test,
  lab: Faulty,
  { of = 'changes', modes, prepare, act, check }: Series,
  { seed, most, wholeBelow = 0 }: SeriesLimits,
): Promise<void> {
  const attempt = async (mode: FaultMode, at: number): Promise<Outcome> => {
    await prepare?.();
    const outcome = await lab.under({ of, at, mode }, act);
    const isNew = outcome.hasFired && (mode === 'before' || mode === 'after');
    const left = isNew ? lab.remains() : [];
    const problems = [...left, ...(await check(outcome).catch((error: unknown) => [String(error)]))];
    const { operations, reply } = outcome;
    const where = `${mode} ${at}, ${operations.at(-1) ?? 'nothing'}: ${reply?.status ?? 'no answer'}`;
    if (problems.length > 0)
      t.fail(where, { problems, operations: operations.slice(-5), answer: reply?.text });
    return outcome;
  };
  const undisturbed = await attempt('before', 0);
  t.ok((undisturbed.reply?.status ?? 500) < 400, 'without a fault it succeeds');
  const count = undisturbed.operations.length;
  const numbers = Array.from({ length: count + SPARE }, (_, index) => index + 1);
  const faults = shuffled(
    numbers.flatMap((at) => modes.map((mode) => ({ mode, at }))),
    new Random(seed),
  );
  let hits = 0;
  let leftOut = 0;
  for (const { mode, at } of faults) {
    if (hits < most || (count < wholeBelow && mode !== 'after')) {
      if ((await attempt(mode, at)).hasFired) hits++;
    } else {
      leftOut++;
    }
  }
  t.ok(hits > 0, `${hits} faults in ${count} operations`);
  if (leftOut > 0) t.comment(`left out: ${leftOut} of ${faults.length}`);
}

export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, rank: random.below(2 ** 30) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
