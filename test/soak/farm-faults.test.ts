/** Servers of a farm whose etcd has lost its majority, or has no room, and the backups of such servers. */
import { join } from 'node:path';
import t from 'tap';
import { cli } from '../support/cli.js';
import { Client } from '../support/client.js';
import { EtcdCluster, missingEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const skip = missingEtcd();
const NODE = { name: 'S1', node_type: 'ethernet_switch', compute_id: 'local' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function newProject(client: Client): Promise<string> {
  const made = await eventually('a project is made', async () => {
    const answer = await client.post('/v2/projects', { name: 'lab', auto_close: false });
    return answer.status === 201 ? (answer.body as { project_id: string }) : undefined;
  });
  const path = `/v2/projects/${made.project_id}`;
  await client.expect(201, 'POST', `${path}/nodes`, NODE);
  return path;
}

void t.test('two of three servers of etcd stop, and come back', { skip }, async (t) => {
  const folders = [0, 1, 2].map(() => scratchFolder(t));
  const etcd = await EtcdCluster.start(t, folders);
  const flags = ['--farm', etcd.address('faults'), '--advertise', 'http://127.0.0.1:0'];
  const server = await startServer(t, { flags });
  const client = new Client(server.url);
  const path = await newProject(client);

  const other = await startServer(t, { flags });
  const others = new Client(other.url);
  await eventually('the other lists it', async () => {
    const { body } = await others.get('/v2/projects');
    return (body as readonly unknown[]).length > 0 || undefined;
  });
  const backup = (url: string, ...words: readonly string[]) =>
    cli(t, ['backup', ...words, '--quiet', '--url', url]);
  const without = await backup(other.url, 'create');
  t.match(without, {
    code: 0,
    errors: /without the project lab: this server of the farm does not have it now/,
  });
  t.match(await backup(server.url, 'create'), { code: 0, errors: '' });
  const archive = join(scratchFolder(t), 'backup.tar');
  t.match(await backup(server.url, 'download', 'latest', archive), { code: 0 });
  const restored = join(scratchFolder(t), 'restored');
  t.match(await cli(t, ['restore', archive, '--data', restored]), { code: 0 });
  t.equal(await other.stop(), 0);

  await Promise.all([etcd.kill(0), etcd.kill(1)]);
  const refused = await eventually('a change is refused', async () => {
    const answer = await client.post(`${path}/nodes`, { ...NODE, name: 'lost' });
    return answer.status === 503 ? answer : undefined;
  });
  t.match(refused.headers.get('retry-after'), /^\d+$/);
  etcd.begin(0);
  etcd.begin(1);
  await eventually('a change is made again', async () => {
    const answer = await client.post(`${path}/nodes`, { ...NODE, name: 'S2' });
    return answer.status === 201 || undefined;
  });
  const nodes = (await client.get(`${path}/nodes`)).body as readonly { readonly name: string }[];
  t.same(
    nodes.map(({ name }) => name).filter((name) => name.startsWith('S')),
    ['S1', 'S2'],
  );
  t.equal(await server.stop(), 0);

  const alone = await startServer(t, { data: restored });
  const back = new Client(alone.url);
  t.match((await back.get('/v2/projects')).body, [{ name: 'lab' }]);
  await back.expect(201, 'POST', `${path}/open`);
  t.match((await back.get(`${path}/nodes`)).body, [{ name: 'S1' }]);
  t.equal(await alone.stop(), 0);
});

void t.test('etcd has no room, until it has', { skip }, async (t) => {
  const quota = { 'quota-backend-bytes': String(2 * 1024 * 1024) };
  const etcd = await EtcdCluster.start(t, undefined, { flags: quota });
  const server = await startServer(t, { flags: ['--farm', etcd.address('full')] });
  const client = new Client(server.url);
  const path = await newProject(client);
  const filler = base64('x'.repeat(200_000));
  await eventually('etcd is full', async () => {
    const answer = await etcd.ask('kv/put', { key: base64('filler'), value: filler });
    return (answer as { code?: number }).code === 8 || undefined;
  });
  const refused = await client.post(`${path}/nodes`, { ...NODE, name: 'lost' });
  t.match(refused, { status: 507, body: { code: 'store_full' } });
  t.match(await client.get(`${path}/nodes`), { status: 200, body: [{ name: 'S1' }] });

  const { header } = (await etcd.ask('kv/deleterange', { key: base64('filler') })) as {
    header: { revision: string };
  };
  await etcd.ask('kv/compaction', { revision: header.revision, physical: true });
  await etcd.ask('maintenance/defragment', {});
  const { alarms } = (await etcd.ask('maintenance/alarm', {})) as { alarms: readonly object[] };
  for (const alarm of alarms) await etcd.ask('maintenance/alarm', { ...alarm, action: 'DEACTIVATE' });
  await eventually('a change is made again', async () => {
    const answer = await client.post(`${path}/nodes`, { ...NODE, name: 'S2' });
    return answer.status === 201 || undefined;
  });
  const nodes = (await client.get(`${path}/nodes`)).body as readonly { readonly name: string }[];
  t.same(
    nodes.map(({ name }) => name),
    ['S1', 'S2'],
  );
  t.equal(await server.stop(), 0);
});
