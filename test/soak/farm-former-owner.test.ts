/** An owner of a lab on another host that sleeps, while another server of the farm takes the lab over, and wakes. */
import t from 'tap';
import { Client } from '../support/client.js';
import { EtcdCluster, missingEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { startServer } from '../support/server-process.js';

const HUB = { node_type: 'ethernet_hub', compute_id: 'b' };

interface Wanted {
  readonly epoch: number;
  readonly number: number;
  readonly nodes: readonly unknown[];
}

void t.test('a former owner says nothing to computes any more', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const flags = ['--farm', etcd.address('former'), '--advertise', 'http://127.0.0.1:0'];
  const compute = await startServer(t);
  const former = await startServer(t, { flags });
  const client = new Client(former.url);
  await eventually('the compute is on record', async () => {
    const made = await client.post('/v2/computes', {
      ...{ compute_id: 'b', name: 'host b', protocol: 'http', host: '127.0.0.1', port: compute.port },
    });
    return made.status === 201 || undefined;
  });
  const next = await startServer(t, { flags });
  const others = new Client(next.url);
  const connected = async (one: Client): Promise<true | undefined> =>
    (await one.expect(200, 'GET', '/v2/computes/b'))['connected'] === true || undefined;
  await eventually('both are connected with it', async () =>
    (await connected(client)) === true ? connected(others) : undefined,
  );
  const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', {
    ...{ name: 'lab', auto_close: false },
  });
  const path = `/v2/projects/${String(id)}`;
  await client.expect(201, 'POST', `${path}/nodes`, { ...HUB, name: 'ONE' });
  const wanted = async (): Promise<Wanted> =>
    (await new Client(compute.url).expect(
      200,
      'GET',
      `/v2/compute/projects/${String(id)}/wanted`,
    )) as unknown as Wanted;
  const before = await wanted();
  t.equal(before.nodes.length, 1);

  former.child.kill('SIGSTOP');
  const after = await eventually('the next owner has spoken', async () => {
    const { status } = await others.post(`${path}/nodes`, { ...HUB, name: 'TWO' });
    return status === 201 ? wanted() : undefined;
  });
  t.ok(after.epoch > before.epoch, `${after.epoch} comes after ${before.epoch}`);
  t.equal(after.nodes.length, 2);
  former.child.kill('SIGCONT');
  await former.logged(/the claim of a scope is lost/);
  const made = await eventually('the former one passes it on', async () => {
    const answer = await client.post(`${path}/nodes`, { ...HUB, name: 'THREE' });
    return answer.status === 201 || undefined;
  });
  t.ok(made);
  t.match(await wanted(), { epoch: after.epoch, nodes: { length: 3 } }, 'one owner speaks');
  await client.expect(204, 'POST', `${path}/close`);
});
