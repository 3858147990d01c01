/** Two servers of one farm, which know each other and take over projects. */
import t from 'tap';
import { Client } from '../support/client.js';
import { EtcdCluster, missingEtcd } from '../support/etcd.js';
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
