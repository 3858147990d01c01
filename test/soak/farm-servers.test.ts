/** Two servers of one farm, which know each other, take over projects, and let others have what they do not use. */
import { get } from 'node:http';
import t from 'tap';
import { Client } from '../support/client.js';
import { ask, EtcdCluster, missingEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

interface Listed {
  readonly name: string;
  readonly status: string;
}

void t.test('a project is taken over with all that was acknowledged', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const flags = ['--farm', etcd.address('two'), '--advertise', 'http://127.0.0.1:0'];
  const begin = async (data: string): Promise<{ server: ServerProcess; client: Client }> => {
    const server = await startServer(t, { data, flags });
    return { server, client: new Client(server.url) };
  };
  const listed = async (client: Client): Promise<Listed[]> =>
    (await client.get('/v2/projects')).body as Listed[];
  const folders = [scratchFolder(t), scratchFolder(t)] as const;
  const [first, second] = [await begin(folders[0]), await begin(folders[1])];
  // The first one was there first, so it has what belongs to all.
  const project = await eventually('a project is made', async () => {
    const made = await first.client.request('POST', '/v2/projects', { name: 'lab', auto_close: false });
    return made.status === 201 ? (made.body as { project_id: string }) : undefined;
  });
  const path = `/v2/projects/${project.project_id}`;
  const node = { name: 'S1', node_type: 'ethernet_switch', compute_id: 'local' };
  await first.client.expect(201, 'POST', `${path}/nodes`, node);
  await eventually(
    'the other lists it',
    async () => (await listed(second.client))[0]?.status === 'opened' || undefined,
  );

  const nodesOn = (client: Client): Promise<unknown[]> =>
    eventually('the project is here', async () => {
      const answer = await client.get(`${path}/nodes`);
      return answer.status === 200 ? (answer.body as unknown[]) : undefined;
    });
  t.equal(await first.server.stop(), 0);
  t.equal((await nodesOn(second.client)).length, 1, 'handed over');
  await second.client.expect(201, 'POST', `${path}/nodes`, { ...node, name: 'S2' });
  const third = await begin(folders[0]);
  await eventually(
    'it is listed',
    async () => (await listed(third.client))[0]?.status === 'opened' || undefined,
  );
  await second.server.stop('SIGKILL');
  t.equal((await nodesOn(third.client)).length, 2, 'taken over');

  // Records of all servers are followed: the next owner has them, too.
  const template = { name: 'T', template_type: 'ethernet_switch', compute_id: 'local' };
  await eventually('the farm is taken over', async () => {
    const made = await third.client.request('POST', '/v2/templates', template);
    return made.status === 201 || undefined;
  });
  const fourth = await begin(folders[1]);
  await third.client.expect(201, 'POST', '/v2/templates', { ...template, name: 'U' });
  const namesOn = async (client: Client): Promise<string[]> =>
    ((await client.get('/v2/templates')).body as readonly { readonly name: string }[]).map(
      ({ name }) => name,
    );
  await eventually('it is told', async () => (await namesOn(fourth.client)).includes('U') || undefined);
  t.equal(await third.server.stop(), 0);
  await eventually('it is taken over again', async () => {
    const made = await fourth.client.request('POST', '/v2/templates', { ...template, name: 'V' });
    return made.status === 201 || undefined;
  });
  const names = await namesOn(fourth.client);
  for (const name of ['T', 'U', 'V']) t.ok(names.includes(name), name);
  t.equal(await fourth.server.stop(), 0);
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Resolves when etcd tells that the key is removed, or was before. */
async function removed(url: string, key: string): Promise<void> {
  const { header, kvs } = (await ask(url, 'kv/range', { key: base64(key) })) as {
    readonly header: { readonly revision: string };
    readonly kvs?: readonly unknown[];
  };
  if (kvs === undefined) return;
  const watched = { key: base64(key), start_revision: String(Number(header.revision) + 1) };
  const body = JSON.stringify({ create_request: watched });
  const { body: messages } = await fetch(`${url}/v3/watch`, { method: 'POST', body });
  if (messages === null) throw new Error('etcd tells nothing');
  let told = '';
  for await (const piece of messages) {
    told += Buffer.from(piece).toString();
    if (told.includes('"DELETE"')) return;
  }
}

void t.test(
  'claims of projects that are deleted or closed are given back',
  { skip: missingEtcd() },
  async (t) => {
    const etcd = await EtcdCluster.start(t);
    const [url = ''] = etcd.urls;
    const flags = ['--farm', etcd.address('back'), '--advertise', 'http://127.0.0.1:0'];
    const first = await startServer(t, { flags });
    await first.logged(/"scope":"@farm"/);
    const owner = new Client(first.url);
    const second = await startServer(t, { flags });
    const other = new Client(second.url);
    const make = async (name: string): Promise<string> => {
      const made = await owner.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
      return String(made['project_id']);
    };
    const keyOf = (id: string): string => `/back/owner/${id}`;
    const isClaimed = async (id: string): Promise<boolean> => {
      const { kvs } = (await ask(url, 'kv/range', { key: base64(keyOf(id)) })) as { readonly kvs?: unknown };
      return kvs !== undefined;
    };
    const [deleted, closed, heard, open] = [
      await make('deleted'),
      await make('closed'),
      await make('heard'),
      await make('open'),
    ];
    for (const id of [deleted, closed, heard, open]) t.ok(await isClaimed(id));
    await other.expect(204, 'DELETE', `/v2/projects/${deleted}`);
    await removed(url, keyOf(deleted));
    t.ok(await isClaimed(closed));

    for (const id of [closed, heard]) await other.expect(204, 'POST', `/v2/projects/${id}/close`);
    const stream = get(`${second.url}/v2/projects/${heard}/notifications`);
    stream.on('error', () => undefined);
    await removed(url, keyOf(closed));
    t.ok(await isClaimed(heard), 'somebody listens');
    t.ok(await isClaimed(open));
    stream.destroy();
    t.match(await other.get(`/v2/projects/${closed}`), { status: 200, body: { status: 'closed' } });
    await other.expect(201, 'POST', `/v2/projects/${closed}/open`);
    const node = { name: 'S1', node_type: 'ethernet_switch', compute_id: 'local' };
    await other.expect(201, 'POST', `/v2/projects/${closed}/nodes`, node);
    t.equal(((await owner.get(`/v2/projects/${closed}/nodes`)).body as unknown[]).length, 1);
    t.match(await owner.get(`/v2/projects/${deleted}`), { status: 404 });
  },
);
