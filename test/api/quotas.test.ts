/** Quotas: requests at the same time never get more than is allowed, and what there is already stays. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { addUser, firstAdmin, signedIn } from '../support/accounts.js';
import type { Client, Reply } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { end, LinkLab } from '../support/link-lab.js';
import { scrape } from '../support/metric-samples.js';
import { manyUdpPorts, startServer } from '../support/server-process.js';
import { TusTalk } from '../support/tus.js';
import { missingQemu } from '../support/qemu.js';
import { missingVpcs } from '../support/vpcs.js';

type Json = Record<string, unknown>;

const AT_ONCE = 64;
const QUOTA = 'nodes=20,links=5,running=3,captures=2,uploads=2,jobs=1,disk=4M';
const server = await startServer(t, {
  flags: ['--user-quota', QUOTA],
  environment: { WIREFARM_UDP_PORTS: manyUdpPorts() },
});
const admin = await firstAdmin(server);

/** A new user with an open project, and another. */
async function owner(name: string, role = 'user') {
  const { id, client } = await addUser(admin, server, name, role);
  const host = { client, url: server.url };
  const [lab, other] = [await LinkLab.make(host), await LinkLab.make(host)];
  return { id, client, lab, other };
}

const newNode = (client: Client, { path }: LinkLab, type = 'ethernet_switch'): Promise<Reply> =>
  client.post(`${path}/nodes`, { name: 'N1', node_type: type, compute_id: 'local' });

const parallel = (ask: (index: number) => Promise<Reply>): Promise<Reply[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, (_, index) => ask(index)));

const accepted = (replies: readonly Reply[]): Json[] =>
  replies.filter(({ status }) => status < 300).map(({ body }) => body as Json);

const refusal = (status: number, code: string, resource: string, allowed: number): object => ({
  status,
  body: { code, quota: { scope: 'user', resource, used: allowed, allowed } },
});

/** So many were accepted, and the others are refused with what is used and allowed. */
function checkAll(t: Test, replies: readonly Reply[], count: number, wanted: object): void {
  t.equal(accepted(replies).length, count);
  for (const reply of replies.filter(({ status }) => status >= 300)) t.match(reply, wanted);
}

async function used(client: Client): Promise<Json> {
  const { user } = await client.expect(200, 'GET', '/v2/quota');
  const entries = Object.entries(user as Record<string, { used: number }>);
  return Object.fromEntries(entries.map(([resource, { used }]) => [resource, used]));
}

void t.test('nodes of all projects of a user are counted together', async (t) => {
  const { client, lab, other } = await owner('nodes');
  const replies = await parallel((index) => newNode(client, index % 2 === 0 ? lab : other));
  checkAll(t, replies, 20, refusal(409, 'quota_reached', 'nodes', 20));
  t.match(await used(client), { nodes: 20, links: 0 });
  const [one = {}] = accepted(replies);
  await client.expect(
    204,
    'DELETE',
    `/v2/projects/${String(one['project_id'])}/nodes/${String(one['node_id'])}`,
  );
  checkAll(t, await parallel(() => newNode(client, lab)), 1, { status: 409 });
  await client.expect(204, 'POST', `${lab.path}/close`);
  await client.expect(204, 'DELETE', other.path);
  t.match(await used(client), { nodes: 0 }, 'what is closed or deleted is given back');
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.ok(Number((await used(client))['nodes']) > 0);
});

void t.test('links and captures', async (t) => {
  const { client, lab } = await owner('links');
  const ports = Array.from({ length: AT_ONCE }, (_, port) => ({ name: `E${port}`, port_number: port }));
  const hub = (name: string): Promise<Json> => lab.node('ethernet_hub', name, { ports_mapping: ports });
  const [one, two] = [await hub('H1'), await hub('H2')];
  const made = await parallel((port) => client.post(lab.links, { nodes: [end(one, port), end(two, port)] }));
  checkAll(t, made, 5, refusal(409, 'quota_reached', 'links', 5));
  const ids = accepted(made).map(({ link_id: id }) => String(id));
  const captured = await parallel((index) =>
    client.post(`${lab.links}/${String(ids[index % ids.length])}/start_capture`, {}),
  );
  const running = accepted(captured).map(({ link_id: id }) => String(id));
  t.equal(running.length, 2);
  t.match(await used(client), { captures: 2, links: 5 });
  const [first = ''] = running;
  await client.expect(201, 'POST', `${lab.links}/${first}/stop_capture`);
  t.match(await used(client), { captures: 1 });
  await client.expect(204, 'DELETE', `${lab.links}/${running[1] ?? ''}`);
  t.match(await used(client), { captures: 0, links: 4 }, 'a capture goes with its link');
});

void t.test('nodes that run, and start again', { skip: missingVpcs() }, async (t) => {
  const { client, lab } = await owner('running');
  const pcs = await Promise.all([1, 2, 3, 4, 5, 6].map(() => newNode(client, lab, 'vpcs')));
  const paths = accepted(pcs).map(({ node_id: id }) => `${lab.path}/nodes/${String(id)}`);
  const act = (path: string, action: string): Promise<Reply> => client.post(`${path}/${action}`);
  await parallel((index) => act(paths[index % paths.length] ?? '', 'start'));
  const states = await Promise.all(paths.map(async (path) => (await client.get(path)).body as Json));
  const running = paths.filter((_, index) => states[index]?.['status'] === 'started');
  const waiting = paths.filter((path) => !running.includes(path));
  t.equal(running.length, 3);
  t.match(await used(client), { running: 3, processors: 0 });
  t.match(await act(waiting[0] ?? '', 'start'), refusal(409, 'quota_reached', 'running', 3));
  t.equal((await act(running[0] ?? '', 'reload')).status, 200, 'a start again needs no other place');
  t.equal((await act(running[0] ?? '', 'stop')).status, 200);
  t.equal((await act(waiting[0] ?? '', 'start')).status, 200);
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.match(await used(client), { running: 0 });
});

void t.test('memory and processors of nodes that run', { skip: missingQemu() }, async (t) => {
  const { id, client, lab } = await owner('memory');
  await admin.expect(200, 'PUT', `/v2/users/${id}`, {
    quota: { memory: 160 << 20, processors: 3, running: null },
  });
  const machine = async (ram: number, cpus: number): Promise<string> => {
    const properties = { ram, cpus };
    const node = { name: 'VM', node_type: 'qemu', compute_id: 'local', console_type: 'none', properties };
    return `${lab.path}/nodes/${String((await client.expect(201, 'POST', `${lab.path}/nodes`, node))['node_id'])}`;
  };
  const start = (path: string): Promise<Reply> => client.post(`${path}/start`);
  const [small, large, wide] = [await machine(64, 1), await machine(128, 1), await machine(32, 3)];
  t.equal((await start(small)).status, 200);
  t.match(await used(client), { memory: 64 << 20, processors: 1 });
  t.match(await start(large), {
    status: 409,
    body: { code: 'quota_reached', quota: { resource: 'memory' } },
  });
  t.match(await start(wide), {
    status: 409,
    body: { code: 'quota_reached', quota: { resource: 'processors' } },
  });
  t.equal((await client.post(`${small}/stop`)).status, 200);
  t.match(await used(client), { memory: 0, processors: 0 });
  t.equal((await start(large)).status, 200);
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.match(await used(client), { memory: 0, processors: 0 });
});

void t.test('uploads on their way and jobs are refused with 429', async (t) => {
  const { client, lab } = await owner('uploads', 'operator');
  const node = await lab.hub();
  const tus = new TusTalk(client);
  const target = { project_id: lab.id, node_id: String(node['node_id']) };
  const begun = await parallel((index) => tus.begin(10, { ...target, path: `f${index}` }));
  checkAll(t, begun, 2, refusal(429, 'quota_of_work', 'uploads', 2));
  t.match(begun.find(({ status }) => status === 429)?.headers.get('retry-after'), /^\d+$/);
  const first = begun.find(({ status }) => status === 201)?.headers.get('location') ?? '';
  t.equal((await tus.patch(first, 0, Buffer.alloc(10))).status, 204);
  t.match(await used(client), { uploads: 1 }, 'one has landed');
  const taken = await parallel((index) => client.post(`${lab.path}/snapshots`, { name: `s${index}` }));
  checkAll(t, taken, 1, refusal(429, 'quota_of_work', 'jobs', 1));
  t.match(await used(client), { jobs: 0 });
});

void t.test('a new owner has what the project has, also when that is too much', async (t) => {
  const { client, lab } = await owner('giver');
  for (let made = 0; made < 15; made++) await lab.hub();
  const heir = await owner('heir');
  for (let made = 0; made < 15; made++) await heir.lab.hub();
  await client.expect(200, 'PUT', `${lab.path}/grants/heir`, { grant: 'owner' });
  t.match(await used(heir.client), { nodes: 30 });
  t.match((await newNode(heir.client, heir.lab)).body, { quota: { used: 30, allowed: 20 } });
  t.equal((await newNode(client, lab)).status, 409, 'each owner needs the room');
  await client.expect(204, 'DELETE', `${lab.path}/grants/heir`);
  t.match(await used(heir.client), { nodes: 15 });
  t.equal((await newNode(heir.client, heir.lab)).status, 201);
});

void t.test('the disk of all projects of a user is counted together', async (t) => {
  const { id, client, lab, other } = await owner('disk');
  const refused = {
    status: 507,
    body: { code: 'quota_of_disk', quota: { scope: 'user', allowed: 4 << 20 } },
  };
  const large = Buffer.alloc(3 << 20, 1);
  t.match(await client.post(`${lab.path}/files/first`, large), { status: 201 });
  const second = `${other.path}/files/second`;
  t.match(await client.post(second, large), refused);
  t.match(await client.post(`/v2/projects/${randomUUID()}/import`, large), refused);
  t.ok(Number((await used(client))['disk']) >= 3 << 20);
  const both = await Promise.all(['a', 'b'].map((name) => client.post(`${other.path}/files/${name}`, large)));
  t.strictSame(
    both.map(({ status }) => status),
    [507, 507],
  );
  await admin.expect(200, 'PUT', `/v2/users/${id}`, { quota: { disk: 8 << 20 } });
  t.match(await client.post(second, large), { status: 201 }, 'an admin gives more');
  await admin.expect(200, 'PUT', `/v2/users/${id}`, { quota: { disk: 1 } });
  t.match(await client.post(`${lab.path}/snapshots`, { name: 'full' }), { status: 507 });
  t.match(await client.post(`${lab.path}/duplicate`, { name: 'copy' }), { status: 507 });
  await client.expect(204, 'DELETE', lab.path);
  await client.expect(204, 'DELETE', other.path);
  t.match(await used(client), { disk: 0 }, 'what is deleted is given back');
});

void t.test(
  'an owner is warned at 90 % of the disk, and beyond it the nodes of all his projects are suspended',
  { skip: missingVpcs() },
  async (t) => {
    const { client, lab, other } = await owner('writer');
    const neighbour = await owner('neighbour');
    const started = async (client: Client, lab: LinkLab): Promise<Json & { path: string }> => {
      const node = (await newNode(client, lab, 'vpcs')).body as Json;
      const path = `${lab.path}/nodes/${String(node['node_id'])}`;
      await client.expect(200, 'POST', `${path}/start`);
      return { ...node, path };
    };
    const pc = await started(client, lab);
    const second = await started(client, other);
    const apart = await started(neighbour.client, neighbour.lab);
    const happened = async (kind: string, { path }: LinkLab): Promise<Json[]> =>
      (await client.get(`${path}/history?kind=${kind}`)).body as Json[];
    const statusOf = async ({ path }: { path: string }, by = client): Promise<unknown> =>
      ((await by.get(path)).body as Json)['status'];

    // As its program would write it.
    const file = join(String(pc['node_directory']), 'log');
    writeFileSync(file, Buffer.alloc((4 << 20) * 0.95, 1));
    const [near] = await eventually('the warning', async () => {
      const told = await happened('quota_near', lab);
      return told.length > 0 ? told : undefined;
    });
    t.match(near, { message: /^The quota of the disk is nearly used: the projects of its owner take 4 MiB/ });
    t.equal(await statusOf(pc), 'started', 'a warning stops nothing');

    writeFileSync(file, Buffer.alloc(5 << 20, 1));
    for (const [node, where] of [
      [pc, lab],
      [second, other],
    ] as const) {
      await eventually('it is suspended', async () => (await statusOf(node)) === 'suspended' || undefined);
      t.match(await happened('nodes_suspended', where), [
        {
          message: /suspended, because the projects of its owner take \d MiB on the disk, and may take 4\. /,
        },
      ]);
    }
    t.equal((await happened('quota_near', lab)).length, 1, 'it was warned once');
    t.equal(await statusOf(apart, neighbour.client), 'started', 'another user has his own room');
    const refused = { status: 507, body: { code: 'quota_of_disk', quota: { scope: 'user' } } };
    t.match(await client.post(`${second.path}/start`), refused);
    writeFileSync(file, '');
    t.match(await client.post(`${pc.path}/start`), { status: 200, body: { status: 'started' } });
    t.match(await client.post(`${second.path}/start`), { status: 200, body: { status: 'started' } });
    for (const { path } of [lab, other]) await client.expect(204, 'POST', `${path}/close`);
    await neighbour.client.expect(204, 'POST', `${neighbour.lab.path}/close`);
  },
);

void t.test('admins give users and projects limits of their own, which are stored', async (t) => {
  const { id, client, lab } = await owner('special');
  const quota = { nodes: 2, memory: null };
  await admin.expect(200, 'PUT', `/v2/users/${id}`, { quota });
  t.match(await admin.get(`/v2/users/${id}`), { body: { quota } });
  const usage = { nodes: { used: 0, allowed: 2 }, links: { used: 0, allowed: 5 }, memory: { allowed: null } };
  t.match(await admin.get(`/v2/users/${id}/quota`), { status: 200, body: { limits: quota, usage } });
  t.equal((await client.get(`/v2/users/${id}/quota`)).status, 403);
  await admin.expect(200, 'PUT', `${lab.path}/quota`, { nodes: 1 });
  t.equal((await client.put(`${lab.path}/quota`, {})).status, 403);
  t.equal((await admin.put(`${lab.path}/quota`, { cats: 1 })).status, 400);
  t.equal((await newNode(client, lab)).status, 201);
  const refused = {
    status: 409,
    body: { quota: { scope: 'project', resource: 'nodes', used: 1, allowed: 1 } },
  };
  t.match(await newNode(client, lab), refused);
  const figures = await scrape(admin);
  t.equal(figures.get('wirefarm_quota_used_ratio{scope="project",resource="nodes"}'), 1);
  t.ok((figures.get('wirefarm_quota_used_ratio{scope="user",resource="nodes"}') ?? 0) >= 0.5);

  await server.stop();
  const again = await startServer(t, { data: server.data });
  const [root, user] = [signedIn(again, 'root'), signedIn(again, 'special')];
  await user.expect(201, 'POST', `${lab.path}/open`);
  t.match(await user.get(`${lab.path}/quota`), {
    body: { limits: { nodes: 1 }, usage: { nodes: { used: 1, allowed: 1 }, links: { allowed: null } } },
  });
  t.match(await newNode(user, lab), refused);
  await root.expect(200, 'PUT', `${lab.path}/quota`, {});
  t.equal((await newNode(user, lab)).status, 201, 'up to the quota of the user');
  t.match(await newNode(user, lab), refusal(409, 'quota_reached', 'nodes', 2));
});
