/** A server whose records are in etcd. */
import { once } from 'node:events';
import t from 'tap';
import { Client } from '../support/client.js';
import { ask, EtcdCluster, missingEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const END = (node: string, port: number): object => ({ node_id: node, adapter_number: 0, port_number: port });

void t.test('all is there after a server with --farm was killed', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const data = scratchFolder(t);
  const flags = ['--farm', etcd.address('trial')];
  const first = await startServer(t, { data, flags });
  const client = new Client(first.url);
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  const path = `/v2/projects/${String(project['project_id'])}`;
  const nodes = await Promise.all(
    ['S1', 'S2', 'S3'].map(async (name) => {
      const node = { name, node_type: 'ethernet_switch', compute_id: 'local' };
      return String((await client.expect(201, 'POST', `${path}/nodes`, node))['node_id']);
    }),
  );
  const [a = '', b = '', c = ''] = nodes;
  const link = { nodes: [END(a, 0), END(b, 0)] };
  await client.expect(201, 'POST', `${path}/links`, link);
  await client.expect(201, 'POST', `${path}/snapshots`, { name: 'before' });
  await client.expect(201, 'POST', `${path}/links`, { nodes: [END(b, 1), END(c, 0)] });
  const [nodesThen, linksThen, snapshotsThen] = await Promise.all(
    ['nodes', 'links', 'snapshots'].map(
      async (list) => (await client.get(`${path}/${list}`)).body as object[],
    ),
  );
  t.same([nodesThen?.length, linksThen?.length, snapshotsThen?.length], [3, 2, 1]);
  await first.stop('SIGKILL');

  const second = await startServer(t, { data, flags });
  const again = new Client(second.url);
  await eventually('it is open', async () => {
    const { status } = (await again.expect(200, 'GET', path)) as { status?: unknown };
    return status === 'opened' || undefined;
  });
  t.same((await again.get(`${path}/nodes`)).body, nodesThen);
  t.match(
    (await again.get(`${path}/links`)).body,
    linksThen?.map((link) => ({ link_id: (link as { link_id: string }).link_id })),
  );
  t.same((await again.get(`${path}/snapshots`)).body, snapshotsThen);
  const metrics = (await again.get('/metrics')).text;
  t.match(metrics, /commit_failures_total\{reason="store_full"\} 0/);

  // Somebody takes its claim away, so that another server starts on the same records.
  const key = Buffer.from('/trial/owner/%40alone').toString('base64');
  await ask(etcd.urls[0] ?? '', 'kv/deleterange', { key });
  const third = await startServer(t, { flags });
  const ended = once(second.child, 'exit');
  const change = { name: 'S4', node_type: 'ethernet_switch', compute_id: 'local' };
  t.match(await again.post(`${path}/nodes`, change), { status: 503, body: { code: 'claim_lost' } });
  t.same(await ended, [1, null], 'the server whose memory is not what is stored has ended');
  t.match(second.log(), /another server has taken over the records of the farm/);
  t.equal(await third.stop(), 0);
});
