/** Nodes of a farm get a compute that can have them, and no host gives out more than it has. */
import { totalmem } from 'node:os';
import t from 'tap';
import { choosePlacement, type PlacementCandidate, type PlacementNeeds } from '../../src/farm/placement.js';
import { cli } from '../support/cli.js';
import { Client } from '../support/client.js';
import { EtcdCluster, missingEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { seededRandom } from '../support/seeded-random.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';
import { missingVpcs } from '../support/vpcs.js';

const SERIES = 2000;

const NEEDS: PlacementNeeds = {
  type: 'qemu',
  load: { memoryMib: 512, processors: 1 },
  images: [],
  kvm: undefined,
  nodesOfLab: 0,
};
const CANDIDATE: PlacementCandidate = {
  ...{ id: 'local', name: 'here', isHere: true, isConnected: true, isDrained: false, nodeTypes: ['qemu'] },
  abilities: { memoryMib: 4096, processors: 4, kvm: [] },
  ...{ given: { memoryMib: 0, processors: 0 }, images: undefined, bringsImages: false, nodesOfLab: 0 },
};
const elsewhere = (id: string, more: Partial<PlacementCandidate> = {}): PlacementCandidate => {
  return { ...CANDIDATE, id, name: id, isHere: false, ...more };
};

void t.test('the choice has all that is needed, and follows from what is given alone', (t) => {
  const random = seededRandom(19);
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  const some = <Value>(...values: readonly [Value, ...Value[]]): Value =>
    values[upTo(values.length - 1)] ?? values[0];
  let chosen = 0;
  for (let round = 0; round < SERIES; round++) {
    const needs: PlacementNeeds = {
      type: some('qemu', 'dynamips'),
      load: { memoryMib: upTo(3000), processors: upTo(4) },
      images: some<readonly string[]>([], ['a'], ['a', 'b']),
      kvm: some(undefined, { platform: 'x86_64', isNeeded: some(true, false) }),
      nodesOfLab: 9,
    };
    const candidates = Array.from({ length: 1 + upTo(4) }, (_, index): PlacementCandidate => {
      return {
        ...{ id: `c${index}`, name: `host ${index}`, isHere: index === 0 },
        ...{ isConnected: upTo(9) > 0, isDrained: upTo(9) === 0, nodesOfLab: upTo(2) },
        nodeTypes: some(['qemu', 'dynamips'], ['qemu']),
        abilities: some({ memoryMib: 4096, processors: upTo(8), kvm: some(['x86_64'], []) }, undefined),
        given: { memoryMib: upTo(5000), processors: upTo(8) },
        bringsImages: some(true, false),
        images: some(undefined, new Set(some<readonly string[]>([], ['a'], ['a', 'b']))),
      };
    });
    const choice = choosePlacement(needs, candidates);
    t.strictSame(choosePlacement(needs, candidates.toReversed()), choice, `${round}: in any order`);
    if ('lacks' in choice) {
      t.equal(choice.lacks.length, candidates.length, `${round}: each has its reason`);
      continue;
    }
    chosen++;
    const { isConnected, isDrained, nodeTypes, abilities, given, images, bringsImages } = choice.chosen;
    const has =
      isConnected &&
      !isDrained &&
      nodeTypes.includes(needs.type) &&
      abilities !== undefined &&
      given.memoryMib + needs.load.memoryMib <= abilities.memoryMib &&
      needs.load.processors <= abilities.processors &&
      (needs.kvm?.isNeeded !== true || abilities.kvm.includes(needs.kvm.platform)) &&
      needs.images.every(
        (image) =>
          images?.has(image) !== false ||
          !candidates.some((one) => one.images?.has(image)) ||
          (bringsImages && candidates.some((one) => one.bringsImages && one.images?.has(image))),
      );
    if (!has) t.fail(`round ${round} chose a compute that lacks something`);
  }
  t.ok(chosen > SERIES / 10 && chosen < SERIES);
  t.end();
});

void t.test(
  'equal computes are told apart in the same way, and labs stay together while there is room',
  (t) => {
    const idOf = (candidates: readonly PlacementCandidate[], needs = NEEDS): string | undefined => {
      const choice = choosePlacement(needs, candidates);
      return 'chosen' in choice ? choice.chosen.id : undefined;
    };
    t.equal(idOf([elsewhere('b'), elsewhere('a')]), 'a');
    t.equal(idOf([elsewhere('a'), CANDIDATE]), 'local');
    const half = { memoryMib: 1024, processors: 1 };
    t.equal(idOf([{ ...CANDIDATE, given: half }, elsewhere('a')]), 'local');
    const most = { memoryMib: 3584, processors: 4 };
    t.equal(idOf([{ ...CANDIDATE, given: most }, elsewhere('a')]), 'a', 'a host that is nearly full');
    const lab = { ...NEEDS, nodesOfLab: 2 };
    t.equal(idOf([CANDIDATE, elsewhere('a', { nodesOfLab: 2 })], lab), 'a', 'the rest of the lab');
    const image = { ...NEEDS, images: ['x'] };
    t.equal(
      idOf([elsewhere('a', { images: new Set() }), elsewhere('b', { images: new Set('x') })], image),
      'b',
    );
    t.equal(idOf([elsewhere('a', { images: new Set() })], image), 'a', 'an image that no compute has');
    const full = { given: { memoryMib: 4096, processors: 4 }, images: new Set('x'), bringsImages: true };
    const brings = elsewhere('a', { images: new Set(), bringsImages: true });
    t.equal(idOf([brings, elsewhere('b', full)], image), 'a', 'an image that is brought');
    t.equal(idOf([brings, elsewhere('b', { ...full, bringsImages: false })], image), undefined);
    t.end();
  },
);

void t.test('two servers give out the memory of two hosts', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const begin = (part: number) =>
    startServer(t, {
      flags: ['--farm', etcd.address('rooms'), '--advertise', 'http://127.0.0.1:0'],
      environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts(part) },
    });
  const first = await begin(0);
  await first.logged(/"scope":"@farm"/);
  const servers = [first, await begin(1)] as const;
  const clients = servers.map(({ url }) => new Client(url)) as [Client, Client];
  for (const [index, { port }] of servers.entries()) {
    const place = {
      compute_id: `host${index}`,
      name: `host ${index}`,
      protocol: 'http',
      host: '127.0.0.1',
      port,
    };
    await clients[0].expect(201, 'POST', '/v2/computes', place);
  }
  for (const [index, client] of clients.entries()) {
    const show = (which: number) => client.expect(200, 'GET', `/v2/computes/host${which}`);
    await eventually('the other host is connected, and the own one is known', async () => {
      const [own, other] = [await show(index), await show(1 - index)];
      return (
        (other['connected'] === true && String(own['last_error']).includes('server itself')) || undefined
      );
    });
  }
  const labs = await Promise.all(
    clients.map(async (client, index) => {
      const made = await client.expect(201, 'POST', '/v2/projects', {
        name: `lab ${index}`,
        auto_close: false,
      });
      return `/v2/projects/${String(made['project_id'])}`;
    }),
  );
  const ram = Math.floor(totalmem() / 1024 / 1024 / 5.5);
  const machine = (name: string, compute_id = 'local') => {
    return { name, node_type: 'qemu', compute_id, properties: { ram, platform: 'x86_64' } };
  };
  const hostOf = (lab: number, node: Record<string, unknown>): number =>
    node['compute_id'] === 'local' ? lab : Number(String(node['compute_id']).slice('host'.length));

  const wanted = labs.flatMap((path, lab) =>
    Array.from({ length: lab === 0 ? 10 : 3 }, async (_, index) => {
      const { status, body } = await clients[lab as 0 | 1].post(`${path}/nodes`, machine(`M${index}`));
      return { lab, status, body: body as Record<string, unknown> };
    }),
  );
  const answers = await Promise.all(wanted);
  const made = answers.filter(({ status }) => status === 201);
  const refused = answers.filter(({ status }) => status !== 201);
  const on = (host: number): typeof made => made.filter(({ lab, body }) => hostOf(lab, body) === host);
  t.strictSame([on(0).length, on(1).length], [5, 5], 'each host is given out whole');
  t.ok(made.filter(({ lab, body }) => lab === 0 && body['compute_id'] === 'host1').length >= 2);
  for (const { status, body } of refused)
    t.match(
      { status, body },
      { status: 409, body: { code: 'no_compute_has_room', message: /MiB of memory left of/ } },
    );

  const [kept] = on(0);
  if (kept === undefined) throw new Error('no node is on the first host');
  await t.test('a node that is deleted, and a lab that is closed, give their room back', async (t) => {
    const path = `${labs[kept.lab] ?? ''}/nodes/${String(kept.body['node_id'])}`;
    await clients[1].expect(204, 'DELETE', path);
    const again = await clients[1].expect(201, 'POST', `${labs[1] ?? ''}/nodes`, machine('again'));
    t.equal(hostOf(1, again), 0);
    t.equal((await clients[0].post(`${labs[0] ?? ''}/nodes`, machine('one more'))).status, 409);
    await clients[0].expect(204, 'POST', `${labs[1] ?? ''}/close`);
    await clients[0].expect(201, 'POST', `${labs[0] ?? ''}/nodes`, machine('one more'));
    await clients[0].expect(201, 'POST', `${labs[1] ?? ''}/open`);
  });

  await t.test('a copy needs room here', async (t) => {
    const nodes = (await clients[0].get(`${labs[0] ?? ''}/nodes`)).body as Record<string, unknown>[];
    const here = nodes.find((node) => node['compute_id'] === 'local');
    t.match(
      await clients[0].post(`${labs[0] ?? ''}/nodes/${String(here?.['node_id'])}/duplicate`, { x: 1, y: 1 }),
      {
        status: 409,
        body: { code: 'no_compute_has_room' },
      },
    );
  });

  await t.test('a node gets more memory only where there is more', async (t) => {
    const made = await clients[0].expect(201, 'POST', '/v2/projects', { name: 'grows', auto_close: false });
    const path = `/v2/projects/${String(made['project_id'])}`;
    const wanted = { ...machine('small'), properties: { ram: 16, platform: 'x86_64' } };
    const { node_id: id } = await clients[0].expect(201, 'POST', `${path}/nodes`, wanted);
    t.match(await clients[0].request('PUT', `${path}/nodes/${String(id)}`, { properties: { ram } }), {
      status: 409,
      body: { code: 'no_compute_has_room', message: /MiB of memory left of/ },
    });
    const grown = { properties: { ram: 32 } };
    t.match(await clients[0].expect(200, 'PUT', `${path}/nodes/${String(id)}`, grown), grown);
    const { results } = await clients[0].expect(200, 'POST', `${path}/nodes/batch`, {
      update: [{ node_id: id, properties: { ram } }],
    });
    t.match(results, [{ status: 409 }]);
    await clients[0].expect(204, 'DELETE', path);
  });

  await t.test('a drained compute gets no new nodes, on any server', async (t) => {
    const drained = await cli(t, ['drain', '--compute', 'host1', '--url', servers[0].url]);
    t.match(drained, { code: 0, output: 'Compute host1 takes no new nodes\n' });
    for (const client of clients)
      t.match(await client.get('/v2/computes/host1/drain'), {
        status: 200,
        body: { compute_id: 'host1', on: true },
      });
    t.match(await clients[0].get('/v2/computes/host1'), { status: 200, body: { connected: true } });
    const vpcs = (compute_id: string) => ({ name: 'SW', node_type: 'ethernet_switch', compute_id });
    t.match(await clients[0].post(`${labs[0] ?? ''}/nodes`, vpcs('host1')), {
      status: 409,
      body: { code: 'compute_drained' },
    });
    // The second server knows that it is the host.
    const placed = await clients[1].expect(201, 'POST', `${labs[1] ?? ''}/nodes`, vpcs('local'));
    t.equal(placed['compute_id'], 'host0');
    t.match(await cli(t, ['drain', '--compute', 'host1', '--off', '--url', servers[0].url]), { code: 0 });
    const back = await clients[1].expect(201, 'POST', `${labs[1] ?? ''}/nodes`, vpcs('local'));
    t.type(back['compute_id'], 'string');
    await clients[0].expect(201, 'POST', `${labs[0] ?? ''}/nodes`, vpcs('host1'));
    t.match(await clients[0].post('/v2/computes/local/drain', { on: true }), { status: 409 });
    t.match(await clients[0].post('/v2/computes/nowhere/drain', { on: true }), { status: 404 });
    t.match(await clients[0].get('/v2/computes/nowhere/drain'), { status: 404 });
  });

  await t.test(
    'the next owner of a lab runs what was on its own host',
    { skip: missingVpcs() },
    async (t) => {
      const made = await clients[0].expect(201, 'POST', '/v2/projects', {
        name: 'handed over',
        auto_close: false,
      });
      const path = `/v2/projects/${String(made['project_id'])}`;
      const pc = (name: string, compute_id: string) =>
        clients[0].expect(201, 'POST', `${path}/nodes`, { name, node_type: 'vpcs', compute_id });
      const ids = [await pc('far', 'host1'), await pc('near', 'local')].map((node) =>
        String(node['node_id']),
      );
      const ends = ids.map((node_id) => ({ node_id, adapter_number: 0, port_number: 0 }));
      const link = await clients[0].expect(201, 'POST', `${path}/links`, { nodes: ends });
      for (const id of ids) await clients[0].expect(200, 'POST', `${path}/nodes/${id}/start`);
      t.equal(await servers[0].stop(), 0);
      await eventually('the lab is here', async () => {
        return (await clients[1].get(`${path}/nodes`)).status === 200 || undefined;
      });
      for (const id of ids) {
        const started = await clients[1].expect(200, 'POST', `${path}/nodes/${id}/start`);
        t.match(started, { status: 'started', console: Number });
      }
      const states = await clients[1].expect(200, 'GET', `${path}/run`);
      t.match(states, {
        nodes: Object.fromEntries(ids.map((id) => [id, { state: 'running' }])),
        links: { [String(link['link_id'])]: { state: 'running' } },
      });
    },
  );
});
