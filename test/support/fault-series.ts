/** The same request again and again, each time with a fault at another of the operations that it takes. */
import type { Test } from 'tap';
import type { Reply } from './client.js';
import type { FaultLab, Outcome } from './fault-lab.js';
import type { FaultMode, FaultPlan } from './fault-plan.js';
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
/** Nobody sees what happens in folders that only a job knows: that comes last. */
const ASIDE = /^(?!rename)\w+ (snapshots\/\.work|\.making-|\.incoming)/;

/** All faults that the time suffices for, in an order that the seed decides. */
export async function faultSeries(
  t: Test,
  lab: FaultLab,
  { of = 'changes', modes, prepare, act, check }: Series,
  { seed, milliseconds }: { seed: number; milliseconds: number },
): Promise<void> {
  const end = Date.now() + milliseconds;
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
  const isAside = (at: number): boolean => ASIDE.test(undisturbed.operations[at - 1] ?? '');
  const random = new Random(seed);
  const inOrder = [
    ...shuffled(
      numbers.filter((at) => !isAside(at)),
      random,
    ),
    ...shuffled(numbers.filter(isAside), random),
  ];
  const faults = inOrder.flatMap((at) => modes.map((mode) => ({ mode, at })));
  let hits = 0;
  for (const { mode, at } of faults) {
    if (Date.now() > end) break;
    if ((await attempt(mode, at)).hasFired) hits++;
  }
  t.ok(hits > 0, `${hits} faults in ${count} operations`);
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, rank: random.below(2 ** 30) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
