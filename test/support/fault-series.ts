/** The same request again and again, each time with a fault at another of the operations that it takes. */
import type { Test } from 'tap';
import type { Reply } from './client.js';
import type { FaultMode, FaultPlan } from './fault-plan.js';
import type { Outcome } from './fault-server.js';
import { Random } from './random.js';

export interface Series {
  readonly of?: FaultPlan['of'];
  readonly modes: readonly FaultMode[];
  /** Before each fault. */
  readonly prepare?: () => Promise<void>;
  readonly act: () => Promise<Reply>;
  /** What is wrong then. The server lives, and the project is open if it can be. */
  readonly check: (outcome: Outcome) => Promise<readonly string[]>;
}

/** How many operations it takes differs a little, as what else the server does comes between. */
const SPARE = 2;

/** What the faults happen to. */
export interface Faulty {
  under(
    plan: { of?: FaultPlan['of']; at: number; mode: FaultMode },
    act: () => Promise<Reply>,
  ): Promise<Outcome>;
  /** What a server must have removed by the time at which the project is open. */
  leftovers(): string[];
}

export interface SeriesLimits {
  readonly seed: number;
  /** Of the faults that strike. */
  readonly most: number;
}

/** All faults that the limits allow, in an order that the seed decides; says how many were left out. */
export async function faultSeries(
  t: Test,
  lab: Faulty,
  { of = 'changes', modes, prepare, act, check }: Series,
  { seed, most }: SeriesLimits,
): Promise<void> {
  const attempt = async (mode: FaultMode, at: number): Promise<Outcome> => {
    await prepare?.();
    const outcome = await lab.under({ of, at, mode }, act);
    const isNew = outcome.hasFired && (mode === 'before' || mode === 'after');
    const left = isNew ? lab.leftovers() : [];
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
  let tried = 0;
  for (const { mode, at } of faults) {
    if (hits >= most) break;
    tried++;
    if ((await attempt(mode, at)).hasFired) hits++;
  }
  t.ok(hits > 0, `${hits} faults in ${count} operations`);
  if (tried < faults.length) t.comment(`left out: ${faults.length - tried} of ${faults.length}`);
}

export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, rank: random.below(2 ** 30) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
