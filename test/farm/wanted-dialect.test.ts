import t from 'tap';
import { refusals } from '../../src/base/errors/errors.js';
import { WantedDialect } from '../../src/farm/computes/wanted-dialect.js';
import type { RunRight } from '../../src/lab/lab-run.js';
import { DIALECT } from '../../src/run/wanted-shapes.js';
import { storedNode } from '../../src/lab/gns3-file/topology-schema.js';

interface Told {
  readonly epoch: number;
  readonly number: number;
  readonly since?: number;
  readonly nodes: readonly { readonly node_id: string }[];
  readonly attachments?: readonly { readonly directed?: unknown }[];
}

/** A compute that speaks the dialect, without nodes. */
class FakeCompute {
  life = 'first';
  /** The last word that was followed; undefined when it does not have the project. */
  followed: Told | undefined;
  readonly requests: string[] = [];

  readonly ask = (method: string, _path: string, body?: unknown): Promise<unknown> => {
    this.requests.push(method);
    if (method === 'PUT') {
      const told = body as Told;
      if (told.epoch < (this.followed?.epoch ?? 0)) return Promise.reject(refused(409));
      if (told.since !== undefined && told.since !== this.followed?.number)
        return Promise.reject(refused(409));
      this.followed = told;
    }
    if (this.followed === undefined) return Promise.reject(refused(404));
    const { epoch, number, nodes } = this.followed;
    const shown = nodes.map(({ node_id }) => ({ node_id, status: 'stopped', fault: null }));
    return Promise.resolve({ life: this.life, epoch, number, nodes: shown, attachments: [] });
  };

  start(life: string): void {
    this.life = life;
    this.followed = undefined;
    this.requests.length = 0;
  }
}

const refused = (status: number): Error => refusals.computeRefused('there', status, 'so it is');

const of = (epoch: number, isShared = true): RunRight => ({
  ...{ isShared, holds: () => true },
  epoch: () => Promise.resolve(epoch),
});

function dialectOf({ ask }: FakeCompute, right: RunRight, spoken = DIALECT): WantedDialect {
  return new WantedDialect({
    ...{ projectId: 'p', right, ask },
    ...{
      name: () => 'lab',
      computeName: () => 'there',
      endThere: () => Promise.resolve(),
      pushImage: () => Promise.resolve(false),
      spoken: () => spoken,
    },
  });
}

const stored = storedNode.parse({
  ...{ node_id: '11111111-2222-3333-4444-555555555555', node_type: 'ethernet_hub', name: 'H' },
  ...{ compute_id: 'b', properties: {} },
});
const wish = {
  ...{ stored, made: undefined, console: undefined, inputs: undefined },
  shouldRun: false,
};

void t.test(
  'the epoch of an owner in a farm is that of its claim, and a former owner is refused',
  async (t) => {
    const compute = new FakeCompute();
    const former = dialectOf(compute, of(40));
    t.equal(await former.begin('first'), true);
    await former.bring(wish);
    t.match(compute.followed, { epoch: 40, number: 1 });
    const next = dialectOf(compute, of(57));
    t.equal(await next.begin('first'), true);
    await next.bring(wish);
    t.match(compute.followed, { epoch: 57, number: 1 });
    await t.rejects(former.bring(wish), { code: 'compute_of_other', message: /epoch 57/ });
    await t.rejects(former.begin('first'), { code: 'compute_of_other' });
    const late = dialectOf(compute, of(41));
    await t.rejects(
      late.begin('first'),
      { code: 'compute_of_other' },
      'also one that has not said anything yet',
    );
    t.match(compute.followed, { epoch: 57, number: 1 });
  },
);

void t.test(
  'a server on its own goes on where its records are older than what the compute was told',
  async (t) => {
    const compute = new FakeCompute();
    const before = dialectOf(compute, of(9, false));
    await before.begin('first');
    await before.bring(wish);
    t.match(compute.followed, { epoch: 9 });
    const restored = dialectOf(compute, of(3, false));
    await restored.begin('first');
    await restored.bring(wish);
    t.match(compute.followed, { epoch: 10 });
  },
);

void t.test('a compute that has started anew is known by its life, and is told everything', async (t) => {
  const compute = new FakeCompute();
  const dialect = dialectOf(compute, of(5));
  await dialect.begin('first');
  await dialect.bring(wish);
  compute.requests.length = 0;
  t.equal(await dialect.begin('first'), false, 'the same life has what it was told');
  t.same(compute.requests, ['GET']);
  compute.start('second');
  t.equal(await dialect.begin('second'), true);
  t.same(compute.requests, [], 'there is nothing to ask');
  await dialect.bring(wish);
  t.match(compute.followed, { epoch: 5, nodes: [{}] });
  t.equal(compute.followed?.since, undefined);
});

void t.test('a compute of an older dialect is not sent what it would refuse', async (t) => {
  const directed = { outward: { delay: [1, 0] }, inward: {}, seed: null };
  const end = { lport: 1, rhost: 'h', rport: 2, suspend: false, filters: {}, directed };
  const at = { node: stored, place: { adapter_number: 0, port_number: 0 }, linkId: 'l' };
  for (const [spoken, told] of [
    [1, undefined],
    [DIALECT, directed],
  ] as const) {
    const compute = new FakeCompute();
    const dialect = dialectOf(compute, of(5), spoken);
    await dialect.begin('first');
    t.equal(dialect.filtersOneWay, told !== undefined);
    await t.rejects(dialect.attach(at, end), { code: 'not_a_compute' }, 'this one gives out no ports');
    t.strictSame(compute.followed?.attachments?.[0]?.directed, told);
  }
});
