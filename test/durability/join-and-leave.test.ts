/** The records of a stopped server go to a farm and come back, with `wirefarm farm join` and `wirefarm farm leave`. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { StateThread } from '../../src/base/store/state-thread.js';
import { cli } from '../support/cli.js';
import { Client } from '../support/client.js';
import { EtcdCluster, missingEtcd } from '../support/etcd.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

void t.test('records go to a farm and come back', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const data = scratchFolder(t);
  const farm = ['--farm', etcd.address('trial')];
  const move = (action: string, folder = data, ...flags: readonly string[]) =>
    cli(t, ['farm', action, '--data', folder, ...(flags.length > 0 ? flags : farm)]);

  const opened = async (url: string): Promise<Client> => {
    const client = new Client(url);
    await client.expect(201, 'POST', `${path}/open`);
    return client;
  };

  const first = await startServer(t, { data });
  const client = new Client(first.url);
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  const path = `/v2/projects/${String(project['project_id'])}`;
  const node = { name: 'S1', node_type: 'ethernet_switch', compute_id: 'local' };
  const { node_id: nodeId } = await client.expect(201, 'POST', `${path}/nodes`, node);
  const template = { name: 'mine', template_type: 'ethernet_hub', compute_id: 'local' };
  await client.expect(201, 'POST', '/v2/templates', template);
  t.match(await move('join'), { code: 1, errors: /is held by another running server: stop that one first/ });
  t.equal(await first.stop(), 0);

  t.match(await move('join', data, '--port', '1'), { code: 2, errors: /say which farm: --farm/ });
  t.match(await move('go'), { code: 2, errors: /say join or leave/ });
  t.match(await move('join', join(data, 'nowhere')), { code: 1, errors: /no server has kept its state in/ });
  t.match(await move('join'), {
    code: 0,
    output: /^1 projects are in the farm now: \d+ records, .*\n.*stay/,
  });
  t.match(await move('join'), { code: 0, output: /^there is nothing to carry/ });
  t.match(await cli(t, ['serve', '--data', data, '--port', '0']), {
    code: 1,
    errors: /are in the farm .*: give --farm, or bring them back \(wirefarm farm leave\)/,
  });

  const second = await startServer(t, { data, flags: farm });
  const again = await opened(second.url);
  t.match((await again.get(`${path}/nodes`)).body, [{ node_id: nodeId }]);
  await again.expect(201, 'POST', `${path}/nodes`, { ...node, name: 'S2' });
  t.equal(await second.stop(), 0);

  const other = scratchFolder(t);
  mkdirSync(join(other, 'state'), { recursive: true });
  const twin = new StateThread(join(other, 'state'));
  const record = { order: 0, path: '', filename: '', settings: { name: 'lab' }, computes: [] };
  await twin.commit([{ put: ['head', 'another', 'project'], value: record }]);
  await twin.close();
  t.match(await move('join', other), {
    code: 1,
    errors: /there are already: project lab\. Rename or delete/,
  });
  t.match(await move('leave', scratchFolder(t)), {
    code: 0,
    output: /nothing to carry\n.* stay in the farm, as their folders are not in .*: lab/,
  });

  t.match(await move('leave'), { code: 0, output: /^1 projects are in .*state now/ });
  const third = await startServer(t, { data });
  const back = await opened(third.url);
  t.match((await back.get(`${path}/nodes`)).body, [{ name: 'S1' }, { name: 'S2' }]);
  const templates = (await back.get('/v2/templates')).body as readonly { readonly name: string }[];
  t.equal(templates.filter(({ name }) => name === 'mine').length, 1);
  t.equal(await third.stop(), 0);
});
