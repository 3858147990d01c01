/** Duplicates of projects over HTTP. */
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CAPTURES } from '../../src/lab/projects/folder-layout.js';
import { Client } from '../support/client.js';
import { recordTree, writeFiles } from '../support/file-trees.js';
import { gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { end, type Json } from '../support/link-lab.js';
import { NotificationLog } from '../support/notification-log.js';
import { projectArchive } from '../support/project-archive-lab.js';
import { startServer } from '../support/server-process.js';
import { SnapshotLab } from '../support/snapshot-lab.js';

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);
const host = { client, url: server.url };

const duplicate = (path: string, body: Json = {}): Promise<Json> =>
  client.expect(201, 'POST', `${path}/duplicate`, body);

void t.test('a duplicate has everything, under ids of its own', async (t) => {
  const lab = await SnapshotLab.make(host, { name: 'original', auto_start: true, scene_width: 1234 });
  const [near, far] = [await lab.lab.hub('H1'), await lab.lab.hub('H2')];
  await lab.lab.link([end(near, 0), end(far, 0)]);
  await lab.write(near, 'a/startup.cfg', 'then');
  await lab.take('before');
  await lab.write(near, 'a/startup.cfg', 'now');
  writeFiles(lab.folder, {
    'README.txt': 'read me',
    [`${CAPTURES}/a.pcap`]: 'x',
    'x.log': 'x',
    'run.sh': '#!',
  });
  mkdirSync(join(lab.folder, 'empty'));
  symlinkSync(`../ethernet_hub/${String(near['node_id'])}/a`, join(lab.folder, 'project-files/link'));
  writeFileSync(join(lab.folder, 'sparse'), 'x');
  truncateSync(join(lab.folder, 'sparse'), 50 * 1024 * 1024);

  for (const isOpen of [true, false]) {
    if (!isOpen) await client.expect(204, 'POST', `${lab.path}/close`);
    const events = await NotificationLog.open(`${server.url}/v2/notifications`);
    const copy = await duplicate(lab.path);
    const name = isOpen ? 'original-1' : 'original-2';
    t.match(copy, { name, status: 'closed', scene_width: 1234, filename: `${name}.gns3` });
    t.match(copy, { auto_open: false, auto_start: false, auto_close: false });
    t.same((await events.next(({ action }) => action === 'project.created')).event, copy);
    events.close();
    const path = `/v2/projects/${String(copy['project_id'])}`;
    await client.expect(201, 'POST', `${path}/open`);
    const nodes = (await client.get(`${path}/nodes`)).body as Json[];
    t.same(
      nodes.map((node) => node['name']),
      ['H1', 'H2'],
    );
    t.notOk(nodes.some((node) => node['node_id'] === near['node_id']));
    const [copied] = (await client.get(`${path}/links`)).body as Json[];
    t.same(
      (copied?.['nodes'] as Json[]).map((one) => one['node_id']),
      nodes.map((node) => node['node_id']),
    );
    const own = String(nodes[0]?.['node_id']);
    const hub = `project-files/ethernet_hub/${own}`;
    const folder = String(copy['path']);
    const then = recordTree(lab.folder);
    const now = recordTree(folder, ['snapshots', 'tmp']);
    for (const file of ['README.txt', 'run.sh', 'sparse', 'empty'])
      t.equal(now.get(file), then.get(file), file);
    t.equal(now.get('project-files/link'), `link ../ethernet_hub/${own}/a`);
    t.equal(readFileSync(join(folder, hub, 'a/startup.cfg'), 'utf8'), 'now');
    t.notOk(now.has('x.log') || now.has(`${CAPTURES}/a.pcap`));
    t.ok(lstatSync(join(folder, 'sparse')).blocks * 512 < 1024 * 1024, 'what was sparse is sparse');
    const [snapshot] = (await client.get(`${path}/snapshots`)).body as Json[];
    await client.expect(201, 'POST', `${path}/snapshots/${String(snapshot?.['snapshot_id'])}/restore`);
    t.equal((await client.get(`${path}/nodes/${own}/files/a/startup.cfg`)).text, 'then');
    await client.expect(204, 'DELETE', `${path}/snapshots/${String(snapshot?.['snapshot_id'])}`);
    await client.expect(204, 'POST', `${path}/close`);
  }
  await client.expect(201, 'POST', `${lab.path}/open`);
  const [left] = await lab.list();
  t.same(await lab.damaged(left ?? {}), [], 'the original lost nothing');
});

void t.test('filters of each way go along, which no topology file holds', async (t) => {
  const lab = await SnapshotLab.make(host, { name: 'directed' });
  const link = await lab.lab.link([end(await lab.lab.hub('H1'), 0), end(await lab.lab.hub('H2'), 0)]);
  const at = (path: string, one: Json | undefined): string =>
    `${path}/links/${String(one?.['link_id'])}/directed_filters`;
  const set = await client.put(at(lab.path, link), { forward: { packet_loss: [50] }, seed: 7 });
  t.equal(set.status, 200, set.text);
  const path = `/v2/projects/${String((await duplicate(lab.path))['project_id'])}`;
  await client.expect(201, 'POST', `${path}/open`);
  const [copied] = (await client.get(`${path}/links`)).body as Json[];
  t.match((await client.get(at(path, copied))).body, { forward: { packet_loss: [50] }, seed: 7 });
});

void t.test(
  'snapshots of GNS3 become ours, and addresses are chosen anew when that is asked for',
  async (t) => {
    const node = gns3Node('qemu');
    const { id, folder } = placeGns3Project(join(server.data, 'projects'), 'from GNS3', { nodes: [node] });
    writeFiles(folder, {
      'snapshots/old_211126_123456.gns3project': projectArchive(
        { id, content: { nodes: [node] } },
        { [`project-files/qemu/${node.node_id}/disk`]: 'then' },
      ),
    });
    await client.expect(200, 'POST', '/v2/reload');
    const copy = await duplicate(`/v2/projects/${id}`, {
      name: 'copy',
      path: null,
      reset_mac_addresses: true,
    });
    const path = `/v2/projects/${String(copy['project_id'])}`;
    t.match((await client.get(`${path}/nodes`)).body, [{ properties: { mac_address: null } }]);
    const [snapshot] = (await client.get(`${path}/snapshots`)).body as Json[];
    t.match(snapshot, { name: 'old', project_id: copy['project_id'] });
    t.notOk(
      readdirSync(join(String(copy['path']), 'snapshots')).some((name) => name.endsWith('.gns3project')),
    );
    await client.expect(201, 'POST', `${path}/open`);
    await client.expect(201, 'POST', `${path}/snapshots/${String(snapshot?.['snapshot_id'])}/restore`);
    const [own] = (await client.get(`${path}/nodes`)).body as Json[];
    const disk = join(String(copy['path']), 'project-files/qemu', String(own?.['node_id']), 'disk');
    t.equal(readFileSync(disk, 'utf8'), 'then');
  },
);

void t.test('places are refused that are none', async (t) => {
  const lab = await SnapshotLab.make(host, { name: 'places' });
  t.match((await client.post(`${lab.path}/duplicate`, { path: '/tmp/nowhere' })).body, {
    status: 403,
    message: 'The path is not allowed',
  });
  t.equal((await client.post('/v2/projects/unknown/duplicate', {})).status, 404);
  t.equal((await client.post(`${lab.path}/duplicate`, { nonsense: 1 })).status, 400);
});

void t.test('the server had nothing to complain of', (t) => {
  t.notMatch(server.log(), /"level":(50|60)/);
  t.end();
});
