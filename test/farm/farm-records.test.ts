/** The records that every server of a farm has in memory, on two servers and a simulated etcd. */
import { pino } from 'pino';
import t from 'tap';
import type { Claim, Store } from '../../src/base/store/store.js';
import { keepRecords } from '../../src/base/store/kept-records.js';
import { FarmMember } from '../../src/farm/farm-member.js';
import { FarmStore } from '../../src/farm/farm-store.js';
import { Freshness } from '../../src/farm/freshness.js';
import { Grants } from '../../src/lab/access/grants.js';
import { Templates } from '../../src/lab/templates.js';
import { Channel } from '../../src/base/streams/channel.js';
import { eventually } from '../support/eventually.js';
import { FakeStore } from '../support/fake-store.js';
import { SimulatedEtcd } from '../support/simulated-etcd.js';
import { SimulatedStore } from '../support/simulated-store.js';
import { SimulatedMachine, SimulatedTime } from '../support/simulated-time.js';

const NO_PROJECTS = { admit: () => Promise.resolve(), dismiss: () => Promise.resolve() };

class Rig {
  readonly machine: SimulatedMachine;
  readonly member: FarmMember;
  readonly store: FarmStore;
  /** The store of the host. */
  readonly local = new FakeStore();
  readonly grants: Grants;
  readonly templates: Templates;
  readonly announced: string[] = [];
  /** Users, as the rig keeps them. */
  readonly kept = new Map<string, unknown>();

  constructor(etcd: SimulatedEtcd, id: string) {
    this.machine = new SimulatedMachine(etcd.time);
    const shared = new SimulatedStore(etcd, this.machine, id);
    const log = pino({ level: 'silent' });
    const boundTo = (claim: Claim): Store => this.store.boundTo(claim);
    const member = new FarmMember({ shared, id, version: '1', clock: this.machine, log, boundTo });
    const claimOf = member.claimOf.bind(member);
    const { records, freshness } = member;
    this.store = new FarmStore({ shared, local: this.local, records, freshness, claimOf });
    this.member = member;
    this.grants = new Grants(this.store, { has: () => false });
    const channel = new Channel();
    channel.subscribe((line) => {
      this.announced.push(line);
    });
    this.templates = new Templates(this.store, channel);
  }

  async start(): Promise<this> {
    await this.member.look();
    await keepRecords(this.store, {
      at: ['user'],
      takeOver: ([, id = ''], value) => {
        if (value === undefined) this.kept.delete(id);
        else this.kept.set(id, value);
      },
    });
    await Promise.all([this.grants.start(), this.templates.start()]);
    await this.member.join({ port: 1, advertise: 'http://127.0.0.1:0' }, NO_PROJECTS);
    return this;
  }

  put(id: string, value: unknown): Promise<void> {
    return this.store.commit([{ put: ['user', id], value }]);
  }
}

interface Farm {
  readonly time: SimulatedTime;
  readonly etcd: SimulatedEtcd;
  readonly owner: Rig;
  readonly other: Rig;
}

/** Two servers, of which the first has what belongs to all. */
async function farm(): Promise<Farm> {
  const time = new SimulatedTime();
  const etcd = new SimulatedEtcd(time);
  const owner = await new Rig(etcd, 'a').start();
  await time.run(2000);
  await owner.put('early', 1);
  const other = await new Rig(etcd, 'b').start();
  await time.run(3000);
  return { time, etcd, owner, other };
}

void t.test('changes of one server are known to the other', async (t) => {
  const { time, owner, other } = await farm();
  t.same([...other.kept], [['early', 1]], 'what was there at the start');
  await owner.put('one', { name: 'x' });
  await time.run(3010);
  t.same(other.kept.get('one'), { name: 'x' });
  t.notOk(owner.kept.has('one'), 'nobody is told of its own changes');
  await owner.store.commit([{ remove: ['user', 'one'] }]);
  await owner.store.commit([{ clear: ['user', 'early'] }]);
  await time.run(3020);
  t.equal(other.kept.size, 0);
  await t.rejects(other.put('two', 1), { code: 'claim_lost' }, 'one server alone changes them');

  const template = { name: 'T', template_type: 'ethernet_switch', compute_id: 'local' };
  const made = JSON.parse(await owner.templates.create(template)) as { readonly template_id: string };
  await time.run(3030);
  t.equal(other.templates.show(made.template_id), owner.templates.show(made.template_id));
  await owner.templates.update(made.template_id, { name: 'U' });
  await owner.templates.delete(made.template_id);
  await time.run(3040);
  t.throws(() => other.templates.show(made.template_id), { code: 'template_unknown' });
  const wanted = ['template.created', 'template.updated', 'template.deleted'];
  for (const { announced } of [owner, other]) {
    const actions = (): string[] =>
      announced
        .map((line) => JSON.parse(line) as { action: string; event: { template_id?: string } })
        .filter(({ event }) => event.template_id === made.template_id)
        .map(({ action }) => action);
    await eventually('it is announced', () => actions().length >= wanted.length || undefined);
    t.same(actions(), wanted, 'once on every server');
  }
});

void t.test('the host has what goes along with a change before the farm has the change', async (t) => {
  const { time, owner, other } = await farm();
  const release = owner.local.pause();
  const change = owner.put('one', 1);
  await time.run(3010);
  t.notOk(other.kept.has('one'), 'its note is not on the disk yet');
  release();
  await change;
  await time.run(3020);
  t.ok(other.kept.has('one'));
  owner.local.failure = new Error('no room');
  await t.rejects(owner.put('two', 2), owner.local.failure);
  await time.run(3030);
  t.notOk(other.kept.has('two'), 'without its note there is no change');
});

void t.test('a server that takes over knows what the other has left, and changes it', async (t) => {
  const { time, etcd, owner, other } = await farm();
  await owner.put('one', 1);
  await time.run(3010);
  // Changes are told late: the claim itself brings them.
  other.machine.pause();
  await owner.put('one', 2);
  await owner.store.commit([{ remove: ['user', 'early'] }]);
  etcd.compact();
  owner.machine.kill();
  await time.run(14_000);
  other.machine.goOn();
  await time.run(30_000);
  t.same([...other.kept], [['one', 2]]);
  await other.put('two', 2);
  const back = await new Rig(etcd, 'a').start();
  await time.run(31_000);
  t.same(
    [...back.kept],
    [
      ['one', 2],
      ['two', 2],
    ],
  );
});

void t.test('a server that has missed changes reads again what there is', async (t) => {
  const { time, etcd, owner, other } = await farm();
  await owner.put('one', 1);
  await time.run(3010);
  other.machine.pause();
  await owner.store.commit([{ remove: ['user', 'one'] }, { put: ['user', 'two'], value: 2 }]);
  etcd.compact();
  await owner.put('three', 3);
  await time.run(4000);
  other.machine.goOn();
  await time.run(5000);
  t.same([...other.kept].sort(), [
    ['early', 1],
    ['three', 3],
    ['two', 2],
  ]);
});

void t.test('records about a project belong to its owner', async (t) => {
  const { time, owner, other } = await farm();
  await t.rejects(other.grants.set('p', 'u', 'edit'), { code: 'claim_lost' });
  await other.member.elsewhere.begin('p').catch(() => owner.member.elsewhere.begin('p'));
  const [holder, second] = other.member.claimOf('p') === undefined ? [owner, other] : [other, owner];
  await holder.grants.set('p', 'u', 'edit');
  await time.run(4000);
  t.equal(second.grants.of('p', 'u'), 'edit');
  await holder.grants.remove('p', 'u');
  await time.run(5000);
  t.equal(second.grants.of('p', 'u'), undefined);
});

void t.test('a server knows all that was acknowledged before, or how old its knowledge is', async (t) => {
  const { time, owner, other } = await farm();
  await owner.put('one', 1);
  t.equal(await other.store.others.catchUp(), undefined);
  t.equal(other.kept.get('one'), 1);

  // Questions that come while one is under way share the next: what is acknowledged meanwhile is known to them, too.
  const first = other.store.others.catchUp();
  await owner.put('one', 2);
  t.same(await Promise.all([first, other.store.others.catchUp(), other.store.others.catchUp()]), [
    undefined,
    undefined,
    undefined,
  ]);
  t.equal(other.kept.get('one'), 2);

  await time.run(6000);
  other.machine.isCut = true;
  await owner.put('one', 3);
  await time.run(8000);
  const age = (await other.store.others.catchUp()) ?? 0;
  t.ok(age >= 2000 && age <= 5000, `${age} ms`);
  other.store.others.checkHeard();
  await time.run(20_000);
  t.throws(
    () => {
      other.store.others.checkHeard();
    },
    { code: 'farm_silent', status: 503 },
  );
  other.machine.isCut = false;
  await time.run(24_000);
  other.store.others.checkHeard();
  t.equal(other.kept.get('one'), 3);
});

void t.test('a question waits until the changes are known here, for a while', async (t) => {
  const time = new SimulatedTime();
  let reach: () => void = () => t.fail('nobody waits');
  const reached = (position: string): Promise<void> => {
    t.equal(position, '7');
    return new Promise((resolve) => (reach = resolve));
  };
  const store = { latest: () => Promise.resolve('7') };
  const freshness = new Freshness({ store, clock: new SimulatedMachine(time), reached });
  let outcome: unknown = 'waits';
  const asked = freshness.catchUp().then((age) => (outcome = age));
  await time.run(1000);
  t.equal(outcome, 'waits');
  reach();
  await asked;
  t.equal(outcome, undefined);
  const late = freshness.catchUp();
  await time.run(10_000);
  t.equal(await late, 3000, 'what is known is of the moment of the first question');
});
