/** Folders of the server in the projects folder cannot be projects, and no project is removed for its name. */
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../../support/client.js';
import { placeGns3Project } from '../../support/gns3-project.js';
import { importPath } from '../../support/project-archive-lab.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer, type ServerProcess } from '../../support/server-process.js';

interface Controller {
  readonly server: ServerProcess;
  readonly client: Client;
  readonly projects: string;
}

async function started(t: Test, data = scratchFolder(t)): Promise<Controller> {
  const server = await startServer(t, { data });
  return { server, client: new Client(server.url), projects: join(data, 'projects') };
}

async function made(client: Client, name: string): Promise<{ id: string; base: string; folder: string }> {
  const { project_id: id, path } = await client.expect(201, 'POST', '/v2/projects', { name });
  return { id: String(id), base: `/v2/projects/${String(id)}`, folder: String(path) };
}

async function listed(client: Client): Promise<unknown[]> {
  return ((await client.get('/v2/projects')).body as { name: string }[]).map(({ name }) => name).sort();
}

void t.test('a project cannot lie where the server keeps what is its own', async (t) => {
  const { server, client, projects } = await started(t);
  const id = randomUUID();
  for (const name of ['.wirefarm', '.incoming', `.making-${id}`, `.deleted-${id}`, '.x']) {
    for (const project_id of [undefined, randomUUID()]) {
      const body = { name: 'hidden', path: join(projects, name), project_id };
      t.equal((await client.post('/v2/projects', body)).status, 403, name);
    }
    t.equal(existsSync(join(projects, name)), name === '.wirefarm', `${name} is not made`);
  }
  const other = await made(client, 'kept');
  t.equal((await client.request('POST', importPath(id), 'garbage')).status, 409);
  t.same(await listed(client), ['kept']);
  t.equal(statSync(join(projects, '.wirefarm')).mode & 0o777, 0o700, 'nobody else reads it');
  t.ok(existsSync(other.folder));
  t.equal(await server.stop(), 0);
});

void t.test('a folder that is called like what is to be removed is left alone', async (t) => {
  const first = await started(t);
  const { projects } = first;
  const lab = await made(first.client, 'lab');
  for (const name of ['one', 'two', 'three']) {
    const node = { name, node_type: 'ethernet_switch', compute_id: 'local' };
    await first.client.expect(201, 'POST', `${lab.base}/nodes`, node);
  }
  await first.server.stop('SIGKILL');
  const names = ['.incoming', `.deleted-${lab.id}`, `.making-${lab.id}`, `.wirefarm/deleted/${lab.id}`];
  for (const name of names) {
    mkdirSync(join(projects, name), { recursive: true });
    writeFileSync(join(projects, name, 'precious'), 'content');
  }
  const { server, client } = await started(t, first.server.data);
  await client.expect(201, 'POST', `${lab.base}/open`);
  t.equal(((await client.get(`${lab.base}/nodes`)).body as unknown[]).length, 3);
  for (const name of names) t.ok(existsSync(join(projects, name, 'precious')), name);
  t.equal(await server.stop(), 0);
});

void t.test('works that a version before has left are finished, and no project loses anything', async (t) => {
  const first = await started(t);
  const { projects } = first;
  const [ending, living, alive] = [
    await made(first.client, 'ending'),
    await made(first.client, 'living'),
    await made(first.client, 'alive'),
  ];
  await first.server.stop('SIGKILL');
  const old = (name: string): string => join(projects, name);
  // As the version before kept it: the folder of our own was not there.
  if (existsSync(old('.wirefarm'))) renameSync(old('.wirefarm'), join(scratchFolder(t), 'aside'));
  renameSync(ending.folder, old(`.deleted-${ending.id}`));
  const forgotten = old(`.deleted-${randomUUID()}`);
  const half = old(`.making-${randomUUID()}`);
  const outside = join(scratchFolder(t), `.making-${randomUUID()}`);
  for (const folder of [forgotten, half, outside, old('.incoming')]) {
    mkdirSync(folder);
    writeFileSync(join(folder, 'left'), 'over');
  }
  symlinkSync(outside, join(projects, outside.slice(outside.lastIndexOf('/') + 1)));
  // Not ours: its project is there.
  mkdirSync(old(`.deleted-${alive.id}`));

  const { server, client } = await started(t, first.server.data);
  t.same(await listed(client), ['alive', 'living']);
  const left = readdirSync(projects).sort();
  t.same(left, ['.wirefarm', `.deleted-${alive.id}`, living.id, alive.id].sort());
  t.notOk(existsSync(outside), 'what was half made elsewhere is gone');
  t.equal((await client.post(`/v2/projects`, { name: 'ending', project_id: ending.id })).status, 201);
  t.equal(await server.stop(), 0);
});

void t.test('a folder that somebody renamed keeps what the store knows beyond its file', async (t) => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const first = await started(t);
    const lab = await made(first.client, `lab ${signal}`);
    const switches: string[] = [];
    const addNode = async (name: string): Promise<void> => {
      const node = { name, node_type: 'ethernet_switch', compute_id: 'local' };
      switches.push(String((await first.client.expect(201, 'POST', `${lab.base}/nodes`, node))['node_id']));
    };
    await addNode('S1');
    await addNode('S2');
    const nodes = switches.map((node_id) => ({ node_id, adapter_number: 0, port_number: 0 }));
    const link = await first.client.expect(201, 'POST', `${lab.base}/links`, { nodes });
    const directed = `${lab.base}/links/${String(link['link_id'])}/directed_filters`;
    const wanted = { forward: { delay: [5, 1] }, backward: {} };
    await first.client.expect(200, 'PUT', directed, wanted);
    await first.client.get(`${lab.base}/files/lab ${signal}.gns3`);
    const moved = join(first.projects, 'MyLab');
    renameSync(lab.folder, moved);
    await addNode('S3');
    await first.server.stop(signal);
    t.notOk(existsSync(lab.folder), 'the folder is not made again behind the back of who moved it');

    const { server, client } = await started(t, first.server.data);
    const project = await client.expect(201, 'POST', `${lab.base}/open`);
    t.equal(project['path'], moved);
    const names = ((await client.get(`${lab.base}/nodes`)).body as { name: string }[]).map(
      ({ name }) => name,
    );
    t.same(names, ['S1', 'S2', 'S3'], `every node is there after ${signal}`);
    t.match((await client.get(directed)).body, wanted, 'and what only the store knows');
    await server.logged(/its folder was moved/);
    t.equal(await server.stop(), 0);
  }
});

void t.test(
  'a folder that was renamed and edited: the file wins, and the state before is a snapshot',
  async (t) => {
    const first = await started(t);
    const lab = await made(first.client, 'lab');
    const node = { name: 'S1', node_type: 'ethernet_switch', compute_id: 'local' };
    await first.client.expect(201, 'POST', `${lab.base}/nodes`, node);
    await first.server.stop();
    const moved = join(first.projects, 'MyLab');
    renameSync(lab.folder, moved);
    placeGns3Project(first.projects, 'lab', {}, lab.id, 'MyLab');
    const { server, client } = await started(t, first.server.data);
    await client.expect(201, 'POST', `${lab.base}/open`);
    t.same((await client.get(`${lab.base}/nodes`)).body, [], 'the file wins');
    const snapshots = (await client.get(`${lab.base}/snapshots`)).body as {
      name: string;
      snapshot_id: string;
    }[];
    t.match(snapshots, [{ name: /^before-outside-edit/ }]);
    await server.logged(/its folder was moved/);
    await server.logged(/changed by another program/);
    await client.expect(201, 'POST', `${lab.base}/snapshots/${String(snapshots[0]?.snapshot_id)}/restore`);
    t.match((await client.get(`${lab.base}/nodes`)).body, [{ name: 'S1' }]);
    t.equal(await server.stop(), 0);
  },
);
