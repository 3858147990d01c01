import { pino } from 'pino';
import t, { type Test } from 'tap';
import { FollowedRecords } from '../../src/farm/followed-records.js';
import { OwnerTable } from '../../src/farm/owner-table.js';
import { Owners } from '../../src/farm/owners.js';
import { ranking } from '../../src/farm/ranking.js';
import { announceServer, Servers } from '../../src/farm/servers.js';
import { SimulatedEtcd } from '../support/simulated-etcd.js';
import { SimulatedStore } from '../support/simulated-store.js';
import { SimulatedMachine, SimulatedTime } from '../support/simulated-time.js';

const NAMES = ['a', 'b', 'c'];
const recordOf = (name: string) => ({ address: `http://${name}`, version: '1', life: 'one' });

/** A server that owns scopes, on a machine of its own. */
class Rig {
  readonly machine: SimulatedMachine;
  readonly servers = new Servers();
  readonly store: SimulatedStore;
  readonly owners: Owners;
  readonly events: string[] = [];
  readonly name: string;

  constructor(etcd: SimulatedEtcd, name: string, wanted: ReadonlySet<string>) {
    this.name = name;
    this.machine = new SimulatedMachine(etcd.time);
    this.store = new SimulatedStore(etcd, this.machine, name);
    this.owners = new Owners({
      ...{ store: this.store, own: name, servers: this.servers, clock: this.machine },
      log: pino({ level: 'silent' }),
      prefixes: (scope) => [['head', scope]],
      homeOf: () => undefined,
      isWanted: (scope) => wanted.has(scope),
      claimed: ({ scope }, { records }) => this.events.push(`${scope} with ${records.length} records`),
      ended: ({ scope }) => this.events.push(`${scope} ended`),
    });
  }

  async start(): Promise<this> {
    await announceServer(this.store, this.name, recordOf(this.name));
    const listeners = [
      { below: ['server'], listener: this.servers },
      { below: ['owner'], listener: this.owners },
    ];
    await new FollowedRecords({ store: this.store, clock: this.machine, listeners }).start();
    return this;
  }

  /** The server that answers for a scope, in a word. */
  async asked(scope: string, wasForwarded = false): Promise<string> {
    const found = await this.owners.find(scope, wasForwarded);
    if (found.at === 'here') return found.staleMs === undefined ? 'here' : `here, ${found.staleMs} ms ago`;
    return found.at === 'server' ? found.address : found.at;
  }
}

/** A farm of three, and its servers in the order in which they should have a scope. */
async function farm(
  scope: string,
  wanted: readonly string[] = [],
): Promise<{ time: SimulatedTime; inRank: Rig[] }> {
  const time = new SimulatedTime();
  const etcd = new SimulatedEtcd(time);
  const rigs = await Promise.all(NAMES.map((name) => new Rig(etcd, name, new Set(wanted)).start()));
  await time.run(10);
  const inRank = ranking(scope, NAMES).flatMap((name) => rigs.filter((rig) => rig.name === name));
  return { time, inRank };
}

function three(t: Test, rigs: readonly Rig[]): [Rig, Rig, Rig] {
  const [first, second, third] = rigs;
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('a farm has three servers');
  t.same(
    rigs.map(({ servers }) => [...servers.live.keys()].sort()),
    [NAMES, NAMES, NAMES],
    'each knows all of them',
  );
  return [first, second, third];
}

void t.test('the loss of a server moves none of the scopes that others have', (t) => {
  const scopes = Array.from({ length: 1000 }, (_, index) => `scope ${index}`);
  const counts = new Map<string, number>();
  const moved: string[] = [];
  for (const scope of scopes) {
    const [first = '', second] = ranking(scope, ['s1', 's2', 's3', 's4']);
    counts.set(first, (counts.get(first) ?? 0) + 1);
    const without = ranking(
      scope,
      ['s4', 's3', 's2', 's1'].filter((server) => server !== first),
    );
    if (without[0] !== second) moved.push(scope);
  }
  t.same(moved, []);
  for (const count of counts.values()) t.ok(count > 180 && count < 320, `${count} of 1000`);
  t.end();
});

void t.test('the scopes of a lost server go to the others in even parts', (t) => {
  const servers = ['s1', 's2', 's3', 's4'];
  const table = new OwnerTable();
  const scopes = Array.from({ length: 400 }, (_, index) => `project ${index}`);
  for (const [index, scope] of scopes.entries()) table.set(scope, servers[index % 2 === 0 ? 0 : 1] ?? '');
  table.set('@farm', 's1');
  const left = new Set(servers.slice(1));
  const given = new Map<string, number>();
  for (const scope of scopes.filter((one) => table.get(one) === 's1')) {
    table.delete(scope);
    const [first = ''] = table.ranked(scope, left, undefined);
    t.equal(table.ranked(scope, left, undefined)[0], first);
    table.expect(scope, first);
    t.equal(table.ranked(scope, left, undefined)[0], first, 'and it is asked for again');
    given.set(first, (given.get(first) ?? 0) + 1);
  }
  t.equal(given.get('s2'), undefined, 'that one has more than its part already');
  const [third = 0, fourth = 0] = [given.get('s3'), given.get('s4')];
  t.equal(third + fourth, 200);
  t.ok(Math.max(third, fourth) <= 167, `${third} and ${fourth}: no more than 1.25 even parts of 400`);
  t.equal(table.ranked('project 0', left, 's2')[0], 's2', 'its home comes first');
  t.end();
});

void t.test('a scope that nobody has is claimed by the first in rank when it is asked for', async (t) => {
  const { time, inRank } = await farm('p');
  const [first, second, third] = three(t, inRank);
  t.equal(await second.asked('p'), `http://${first.name}`, 'who is asked first says who it is');
  t.equal(first.owners.known('p').at, 'nobody');
  t.equal(await first.asked('p', true), 'here');
  await time.run(20);
  t.equal(await third.asked('p'), `http://${first.name}`);
  t.equal(await third.asked('p', true), `http://${first.name}`);
  t.same(first.events, ['p with 0 records']);
  await first.owners.release('p');
  await time.run(30);
  t.same(first.events, ['p with 0 records', 'p ended']);
  t.equal(await third.asked('p', true), 'here', 'a request that was forwarded goes no further');
  await time.run(40);
  t.equal(await first.asked('p'), `http://${third.name}`);
});

void t.test('a wanted scope whose owner dies is claimed by the next in rank', async (t) => {
  const { time, inRank } = await farm('p', ['p']);
  const [first, second, third] = three(t, inRank);
  for (const { owners } of [third, second, first]) owners.watch('p');
  await time.run(2500);
  t.equal(first.owners.known('p').at, 'here');
  first.machine.kill();
  await time.run(12_000);
  t.equal(second.owners.known('p').at, 'here', 'at once when the lease has ended');
  t.notOk(second.servers.live.has(first.name));
  second.machine.pause();
  await time.run(14_900);
  third.machine.pause();
  await time.run(22_000);
  third.machine.goOn();
  await time.run(26_000);
  t.equal(third.owners.known('p').at, 'here');
  second.machine.goOn();
  await time.run(30_000);
  t.equal(await second.asked('p'), `http://${third.name}`);
  t.same(second.events, ['p with 0 records', 'p ended']);
  await third.owners.close();
  await time.run(30_100);
  t.equal(second.owners.known('p').at, 'here', 'released when the owner ends');
});

void t.test('a wanted scope whose owner leaves is claimed by the next in rank at once', async (t) => {
  const { time, inRank } = await farm('p', ['p']);
  const [first, second, third] = three(t, inRank);
  for (const { owners } of [third, second, first]) owners.watch('p');
  await time.run(2500);
  t.equal(first.owners.known('p').at, 'here');
  await announceServer(first.store, first.name, { ...recordOf('first'), isLeaving: true });
  await time.run(2510);
  t.equal(await third.asked('p'), 'http://first', 'it answers until it has let go');
  await first.owners.close();
  await time.run(2600);
  t.equal(second.owners.known('p').at, 'here');
});

void t.test(
  'an owner that is cut off answers with the age of what it knows, until another may be owner',
  async (t) => {
    const { time, inRank } = await farm('p');
    const [first, second] = three(t, inRank);
    t.equal(await first.asked('p'), 'here');
    first.machine.isCut = true;
    await time.run(5000);
    t.equal(await first.asked('p'), 'here', 'the claim is fresh');
    await time.run(8000);
    t.equal(await first.asked('p'), 'here, 3000 ms ago');
    await time.run(14_000);
    t.equal(await second.asked('p', true), 'here');
    first.machine.isCut = false;
    await time.run(14_500);
    t.equal(await first.asked('p'), `http://${second.name}`);
  },
);

void t.test(
  'a claim that the store cannot grant is refused, and tried again where the scope is wanted',
  async (t) => {
    const wanted = ['p'];
    const { time, inRank } = await farm('p', wanted);
    const [first] = three(t, inRank);
    first.machine.isCut = true;
    await t.rejects(first.asked('p'), { code: 'store_unreachable' });
    first.owners.watch('p');
    await time.run(3000);
    first.machine.isCut = false;
    await time.run(5000);
    t.equal(first.owners.known('p').at, 'here');
  },
);
