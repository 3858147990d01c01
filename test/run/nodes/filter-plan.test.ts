import t from 'tap';
import { expressionsOf, filterPlan, type WantedFilters } from '../../../src/run/nodes/filter-plan.js';
import type { AcceptedFilters } from '../../../src/lab/topology/link-filters.js';
import type { FilterPlan } from '../../../src/engine/filters/filter-plan.js';
import type { BpfProgram } from '../../../src/engine/wire/bpf.js';

/** A program that says which expression it is of. */
const compiled = (expression: string): BpfProgram => ({ instructions: Uint32Array.of(expression.length) });

function planOf(wanted: Partial<WantedFilters>): Promise<FilterPlan | undefined> {
  const all = { both: {}, outward: {}, inward: {}, seed: 5, ...wanted };
  return filterPlan(all, (expression) => Promise.resolve(compiled(expression)));
}

void t.test('filters for both ways are done on both, in the order of stages', async (t) => {
  const both: AcceptedFilters = {
    delay: [10, 2],
    rate: [64, 100],
    reorder: [3, 7],
    duplicate: [4],
    corrupt: [5],
    packet_loss: [6],
    frequency_drop: [-1],
    bpf: ['ip\n\n  icmp  '],
  };
  const stages = [
    { type: 'bpf', programs: [compiled('ip'), compiled('icmp')] },
    { type: 'frequency_drop', every: -1 },
    { type: 'packet_loss', percent: 6 },
    { type: 'corrupt', percent: 5 },
    { type: 'duplicate', percent: 4 },
    { type: 'reorder', percent: 3, holdMs: 7 },
    { type: 'rate', kilobits: 64, queueMs: 100 },
    { type: 'delay', latencyMs: 10, jitterMs: 2 },
  ];
  t.same(await planOf({ both }), { seed: 5, outward: stages, inward: stages });
});

void t.test('a filter for one way counts there instead, filter by filter', async (t) => {
  const plan = await planOf({
    both: { delay: [10], packet_loss: [1] },
    outward: { delay: [20, 3] },
    inward: { corrupt: [2] },
  });
  t.same(plan?.outward, [
    { type: 'packet_loss', percent: 1 },
    { type: 'delay', latencyMs: 20, jitterMs: 3 },
  ]);
  t.same(plan?.inward, [
    { type: 'packet_loss', percent: 1 },
    { type: 'corrupt', percent: 2 },
    { type: 'delay', latencyMs: 10, jitterMs: 0 },
  ]);
  t.same(await planOf({ inward: { corrupt: [2] } }), {
    seed: 5,
    outward: [],
    inward: [{ type: 'corrupt', percent: 2 }],
  });
});

void t.test('there is no plan when there is nothing to do', async (t) => {
  t.equal(await planOf({}), undefined);
  t.equal(await planOf({ both: { delay: [0, 0], bpf: ['  \n '] }, outward: { rate: [0, 50] } }), undefined);
});

void t.test('values that make no sense are passed over', async (t) => {
  const both = { bogus: [1], delay: 'long', packet_loss: [1000], corrupt: [null], duplicate: [3] };
  const stages = [{ type: 'duplicate', percent: 3 }];
  // As it may stand in a file that somebody else has written.
  const plan = await planOf({ both: both as unknown as AcceptedFilters, outward: { duplicate: [101] } });
  t.same(plan, { seed: 5, outward: stages, inward: stages });
});

void t.test('omitted values have a usual value', async (t) => {
  const plan = await planOf({ both: { rate: [64], reorder: [5, 0] } });
  t.same(plan?.outward, [
    { type: 'reorder', percent: 5, holdMs: 10 },
    { type: 'rate', kilobits: 64, queueMs: 500 },
  ]);
});

void t.test('without a seed there is any', async (t) => {
  const plans = await Promise.all([1, 2, 3].map(() => planOf({ both: { corrupt: [1] }, seed: undefined })));
  t.equal(new Set(plans.map((plan) => plan?.seed)).size, 3);
  t.equal((await planOf({ both: { corrupt: [1] }, seed: 0 }))?.seed, 0);
});

void t.test('an expression that is refused refuses the plan', async (t) => {
  const refusal = new Error('syntax error');
  const wanted = { both: { bpf: ['nonsense'] }, outward: {}, inward: {}, seed: 1 };
  await t.rejects(
    filterPlan(wanted, () => Promise.reject(refusal)),
    refusal,
  );
});

void t.test('expressions are lines', (t) => {
  t.same(expressionsOf({ bpf: ['ip\n tcp port 80 \n\n'] }), ['ip', 'tcp port 80']);
  t.same(expressionsOf({}), []);
  t.end();
});
