/** Restoring snapshots over HTTP: what comes back, what stays, and what clients are told. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CAPTURES } from '../../src/lab/projects/folder-layout.js';
import { Client, finished, type Reply, resultOf } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { gns3Drawing, gns3Link, gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { end, frameOf, hubLine, LinkLab, type Json } from '../support/link-lab.js';
import { NotificationLog } from '../support/notification-log.js';
import { startServer } from '../support/server-process.js';
import { SnapshotLab } from '../support/snapshot-lab.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };

interface Line extends SnapshotLab {
  readonly near: Json;
  readonly far: Json;
  readonly link: Json;
}

/** Two hubs with a link and files, and a drawing. */
async function line(settings: Json = {}): Promise<Line> {
  const lab = await SnapshotLab.make(host, settings);
  const [near, far] = [await lab.lab.hub('H1'), await lab.lab.hub('H2')];
  const link = await lab.lab.link([end(near, 0), end(far, 0)]);
  await client.expect(201, 'POST', `${lab.path}/drawings`, { svg: '<svg><text>then</text></svg>' });
  await lab.write(near, 'startup.cfg', 'then');
  await lab.write(far, 'deep/er/disk', Buffer.alloc(200_000, 7));
  return Object.assign(lab, { near, far, link });
}

/** Everything that a client can change, changed. */
async function changeAll(lab: Line): Promise<void> {
  const { near, far, link, path } = lab;
  await client.expect(204, 'DELETE', `${lab.lab.links}/${String(link['link_id'])}`);
  await client.expect(204, 'DELETE', `${path}/nodes/${String(far['node_id'])}`);
  await client.expect(200, 'PUT', `${path}/nodes/${String(near['node_id'])}`, { x: 500, name: 'renamed' });
  const added = await lab.lab.node('atm_switch', 'A1');
  await lab.write(added, 'new', 'new');
  await lab.write(near, 'startup.cfg', 'now');
  await lab.write(near, 'another', 'now');
  for (const { drawing_id: id } of (await client.get(`${path}/drawings`)).body as Json[])
    await client.expect(204, 'DELETE', `${path}/drawings/${String(id)}`);
  await client.expect(201, 'POST', `${path}/drawings`, { svg: '<svg></svg>' });
  await client.expect(200, 'PUT', path, { scene_width: 4321, show_grid: true, variables: [{ name: 'V' }] });
}

void t.test('everything comes back, with its ids', async (t) => {
  const lab = await line();
  const objects = await lab.objects();
  const files = lab.files();
  const snapshot = await lab.take('then');
  await changeAll(lab);
  t.notSame(await lab.objects(), objects);
  const restored = await lab.restore(snapshot);
  t.same(restored, (await client.get(lab.path)).body);
  t.same(await lab.objects(), objects);
  t.strictSame([...lab.files()], [...files]);
  t.same(await lab.list(), [snapshot]);
  t.notOk(
    readdirSync(join(lab.folder, 'snapshots')).includes('.work') &&
      readdirSync(join(lab.folder, 'snapshots', '.work')).length > 0,
    'nothing is left over',
  );
  await client.expect(204, 'POST', `${lab.path}/close`);
  const topologies = readdirSync(lab.folder).filter((name) => name.endsWith('.gns3'));
  t.equal(topologies.length, 1);
  t.match(readFileSync(join(lab.folder, topologies[0] ?? ''), 'utf8'), /"then|then</);
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.same(await lab.objects(), objects, 'also after it is closed and opened');
  t.strictSame([...lab.files()], [...files]);
});

void t.test('clients are told of a restore in this order', async (t) => {
  const lab = await line();
  const snapshot = await lab.take('then');
  const controller = await NotificationLog.open(`${server.url}/v2/notifications`);
  await changeAll(lab);
  const before = controller.received.length;
  const { project_id: id } = snapshot;
  const told = await lab.told(async () => {
    await lab.restore(snapshot);
  });
  t.same(
    told.map(({ action }) => action),
    ['node.created', 'node.created', 'link.created', 'drawing.created', 'snapshot.restored'],
  );
  const [first, second, link, drawing, last] = told.map(({ event }) => event);
  t.same([first, second], (await client.get(`${lab.path}/nodes`)).body, 'whole objects');
  t.same([link], (await client.get(`${lab.path}/links`)).body);
  t.same(drawing, ((await client.get(`${lab.path}/drawings`)).body as Json[])[0]);
  t.same(last, snapshot);
  const opened = await controller.next(
    ({ action, event }) => action === 'project.opened' && event['project_id'] === id,
  );
  t.same(opened.event, (await client.get(lab.path)).body);
  const later = controller.received.slice(before).map(({ action }) => action);
  t.same(
    later.filter((action) => !action.startsWith('job.')),
    ['project.opened'],
  );
  controller.close();
});

void t.test('a project that was renamed before or after', async (t) => {
  const lab = await line({ name: 'first name' });
  await client.expect(200, 'PUT', lab.path, { name: 'second name' });
  const objects = await lab.objects();
  const snapshot = await lab.take('then');
  await changeAll(lab);
  await client.expect(200, 'PUT', lab.path, {
    ...{ name: 'third name', auto_start: true, auto_open: true, auto_close: true },
  });
  // It must not close by itself between two requests.
  const stream = await lab.listen();
  t.match(await lab.restore(snapshot), {
    name: 'third name',
    auto_start: true,
    auto_open: true,
    auto_close: true,
  });
  t.same(await lab.objects(), objects);
  await client.expect(204, 'POST', `${lab.path}/close`);
  stream.close();
  const topologies = readdirSync(lab.folder).filter((name) => name.includes('.gns3'));
  t.same(topologies, ['first name.gns3'], 'its file is called as before, and is the only one');
  t.match(JSON.parse(readFileSync(join(lab.folder, 'first name.gns3'), 'utf8')), {
    name: 'third name',
    topology: { nodes: [{ name: 'H1' }, { name: 'H2' }] },
  });
});

void t.test('nodes of other kinds and of computes that nobody knows', async (t) => {
  const far = gns3Node('ethernet_switch', {
    name: 'far',
    compute_id: 'c0ffee00-0000-4000-8000-000000000000',
  });
  const nodes = [...['vpcs', 'qemu', 'docker', 'iou', 'cloud', 'nat'].map((kind) => gns3Node(kind)), far];
  const links = [gns3Link({ node: nodes[0] as Json & { node_id: string } }, { node: far, port: 3 })];
  const computes = [
    { compute_id: far.compute_id, host: '192.0.2.1', name: 'other', port: 3080, protocol: 'http' },
  ];
  const content = { nodes, links, computes, drawings: [gns3Drawing()] };
  const { id } = placeGns3Project(join(server.data, 'projects'), 'mixed', content);
  const lab = await SnapshotLab.of(host, await LinkLab.open(host, id));
  mkdirSync(join(lab.folder, 'project-files/vpcs', String(nodes[0]?.node_id)), { recursive: true });
  lab.plant(`project-files/vpcs/${String(nodes[0]?.node_id)}/startup.vpc`, 'set pcname PC1\n');
  const objects = await lab.objects();
  const files = lab.files();
  const snapshot = await lab.take('then');
  for (const { node_id: nodeId } of nodes) await client.expect(204, 'DELETE', `${lab.path}/nodes/${nodeId}`);
  t.same((await client.get(`${lab.path}/links`)).body, []);
  await lab.restore(snapshot);
  t.same(await lab.objects(), objects);
  t.strictSame([...lab.files()], [...files]);
  await client.expect(204, 'POST', `${lab.path}/close`);
  const [topology] = readdirSync(lab.folder).filter((name) => name.endsWith('.gns3'));
  const written = JSON.parse(readFileSync(join(lab.folder, topology ?? ''), 'utf8')) as { topology: Json };
  t.same(written.topology['computes'], computes);
});

void t.test('filters of links for each direction come back', async (t) => {
  const lab = await line();
  const at = `${lab.lab.at(lab.link)}/directed_filters`;
  const set = (wanted: Json): Promise<Json> => client.expect(200, 'PUT', at, wanted);
  const directed = await set({ forward: { delay: [10, 0] }, backward: {}, seed: 7 });
  const snapshot = await lab.take('then');
  await set({ forward: {}, backward: { packet_loss: [5] } });
  await lab.restore(snapshot);
  t.same((await client.get(at)).body, directed);
  t.same((await lab.diff(snapshot))['links'], { added: [], removed: [], changed: [] });
  await set({});
  t.same((await lab.diff(snapshot))['links'], { added: [], removed: [], changed: [lab.link['link_id']] });
  await client.expect(204, 'DELETE', `${lab.path}/nodes/${String(lab.near['node_id'])}`);
  await resultOf(client, 'POST', `${lab.at(snapshot)}/nodes/${String(lab.near['node_id'])}/restore`);
  t.same((await client.get(at)).body, directed, 'also with one of its nodes');
});

void t.test('files beside: those of the snapshot come back, others stay', async (t) => {
  const lab = await line();
  lab.plant('README.txt', 'then');
  mkdirSync(join(lab.folder, 'notes'));
  lab.plant('notes/a', 'then');
  symlinkSync('notes/a', join(lab.folder, 'link'));
  const files = lab.files();
  const snapshot = await lab.take('then');
  lab.plant('README.txt', 'now');
  lab.plant('later.txt', 'now');
  lab.plant('notes/b', 'now');
  writeFileSync(join(lab.folder, 'project-files', 'stray'), 'now');
  await lab.restore(snapshot);
  const after = new Map(lab.files());
  t.equal(readFileSync(join(lab.folder, 'later.txt'), 'utf8'), 'now', 'what is new at the top stays');
  t.ok(after.delete('later.txt'));
  t.strictSame([...after], [...files]);
  t.ok(lstatSync(join(lab.folder, 'link')).isSymbolicLink());
});

void t.test('captures: finished ones stay, running ones end, and no snapshot has any', async (t) => {
  const hubs = await hubLine(t, host);
  const { at } = hubs;
  const lab = await SnapshotLab.of(host, hubs.lab);
  const captures = join(lab.folder, CAPTURES);
  mkdirSync(captures, { recursive: true });
  writeFileSync(join(captures, 'old.pcap'), 'finished');
  await client.expect(201, 'POST', `${at}/start_capture`, { capture_file_name: 'running.pcap' });
  await hubs.pass([frameOf(1)], 1);
  const snapshot = await lab.take('then');
  t.equal((await lab.details(snapshot))['files'], 0);
  writeFileSync(join(captures, 'newer.pcap'), 'finished later');
  t.same((await lab.diff(snapshot))['files'], { added: [], removed: [], changed: [] });
  const told = await lab.told(() => lab.restore(snapshot));
  const warnings = told.filter(({ action }) => action === 'log.warning');
  t.match(warnings, [{ event: { message: /running\.pcap.*then/ } }]);
  t.equal(warnings.length, 1);
  t.equal(readFileSync(join(captures, 'old.pcap'), 'utf8'), 'finished');
  t.equal(readFileSync(join(captures, 'newer.pcap'), 'utf8'), 'finished later');
  t.match((await client.get(`${lab.path}/captures`)).body, [
    { name: 'newer.pcap' },
    { name: 'old.pcap' },
    { name: 'running.pcap', packets: 1, state: 'finished' },
  ]);
  t.match((await client.get(`${lab.path}/links`)).body, [{ capturing: false }]);
  await client.expect(201, 'POST', `${at}/start_capture`, { capture_file_name: 'next.pcap' });
  const quiet = await lab.told(() => lab.take('while it records'));
  t.same(quiet, [], 'a snapshot ends no capture');
  await client.expect(201, 'POST', `${at}/stop_capture`);
});

void t.test('readers and writers find an open project all the while', async (t) => {
  const lab = await line();
  const snapshot = await lab.take('then');
  let isOver = false;
  const nodeId = String(lab.near['node_id']);
  const seen = new Set<string>();
  const look = async (): Promise<void> => {
    while (!isOver) {
      for (const path of [`/nodes/${nodeId}`, '/nodes', '/links', ''])
        seen.add(`GET ${(await client.get(lab.path + path)).status}`);
      seen.add(`POST ${(await client.post(lab.nodeFile(lab.near, 'busy'), 'x')).status}`);
      seen.add(`PUT ${(await client.put(`${lab.path}/nodes/${nodeId}`, { x: 1 })).status}`);
      t.match((await client.get(lab.path)).body, { status: 'opened' });
    }
  };
  const looking = Promise.all([look(), look()]);
  for (let round = 0; round < 5; round++) await lab.restore(snapshot);
  isOver = true;
  await looking;
  t.same([...seen].sort(), ['GET 200', 'POST 201', 'PUT 200']);
});

void t.test('one node: its properties, its files and its links', async (t) => {
  const lab = await line();
  const { near, far, link } = lab;
  const nodeAt = `${lab.path}/nodes/${String(near['node_id'])}`;
  const snapshot = await lab.take('then');
  const restoreNode = (node: Json): Promise<Reply> =>
    finished(client, 'POST', `${lab.at(snapshot)}/nodes/${String(node['node_id'])}/restore`);

  await client.expect(200, 'PUT', nodeAt, { x: 900, name: 'other' });
  await lab.write(near, 'startup.cfg', 'now');
  await lab.write(near, 'more', 'now');
  await lab.write(far, 'deep/er/disk', 'now');
  const told = await lab.told(async () => {
    const { status, body } = await restoreNode(near);
    t.same([status, body], [200, near]);
  });
  t.same(told, [{ action: 'node.updated', event: near }]);
  t.equal((await lab.read(near, 'startup.cfg')).text, 'then');
  t.equal((await lab.read(near, 'more')).status, 404);
  t.equal((await lab.read(far, 'deep/er/disk')).text, 'now', 'nothing else is changed');
  t.same((await client.get(`${lab.path}/links`)).body, [link]);

  await client.expect(204, 'DELETE', nodeAt);
  t.same((await client.get(`${lab.path}/links`)).body, []);
  const taker = await lab.lab.hub('H1');
  t.equal(taker['name'], 'H1');
  const back = await restoreNode(near);
  t.equal(back.status, 200);
  t.match(back.body, { ...near, name: /^H\d+$/ }, 'it has its id again');
  t.notSame((back.body as Json)['name'], 'H1');
  t.same((await client.get(`${lab.path}/links`)).body, [link], 'and its link');
  t.equal((await lab.read(near, 'startup.cfg')).text, 'then');

  await client.expect(204, 'DELETE', nodeAt);
  const third = await lab.lab.hub('H3');
  await lab.lab.link([end(third, 0), end(far, 0)]);
  t.equal((await restoreNode(near)).status, 200);
  const links = (await client.get(`${lab.path}/links`)).body as Json[];
  t.equal(links.length, 1, 'a port that is taken stays taken');
  t.not(links[0]?.['link_id'], link['link_id']);

  const later = await lab.lab.hub('H9');
  const unknown = await restoreNode(later);
  t.same(unknown.status, 404);
  t.equal((unknown.body as Json)['message'], `Node ID ${String(later['node_id'])} doesn't exist`);
  await lab.restore(snapshot);
  t.match((await client.get(`${lab.path}/nodes`)).body, [near, far]);
  t.equal((await lab.read(far, 'deep/er/disk')).text.length, 200_000);
});

void t.test('a name with spaces and braces comes back as it was', async (t) => {
  const odd = gns3Node('ethernet_hub', { name: 'my {odd} hub 1' });
  const { id } = placeGns3Project(join(server.data, 'projects'), 'odd names', { nodes: [odd] });
  const lab = await SnapshotLab.of(host, await LinkLab.open(host, id));
  const snapshot = await lab.take('then');
  await client.expect(204, 'DELETE', `${lab.path}/nodes/${odd.node_id}`);
  const back = await resultOf(client, 'POST', `${lab.at(snapshot)}/nodes/${odd.node_id}/restore`);
  t.equal(back['name'], odd.name);
});

void t.test('a comparison says what has changed since', async (t) => {
  const lab = await line();
  const snapshot = await lab.take('then');
  const nothing = { added: [], removed: [], changed: [] };
  const same = { settings: [], nodes: nothing, links: nothing, drawings: nothing, files: nothing };
  t.same(await lab.diff(snapshot), same);
  await client.expect(200, 'PUT', lab.path, { name: 'a name is no difference' });
  await lab.write(lab.near, 'startup.cfg', 'then');
  t.same(await lab.diff(snapshot), same, 'the same content written again is none, either');
  const folderOf = (node: Json): string => `project-files/ethernet_hub/${String(node['node_id'])}`;
  await changeAll(lab);
  const diff = await lab.diff(snapshot);
  t.match(diff, {
    nodes: { added: [String], removed: [lab.far['node_id']], changed: [lab.near['node_id']] },
    links: { added: [], removed: [lab.link['link_id']], changed: [] },
    drawings: { added: [String], removed: [String], changed: [] },
    files: { changed: [`${folderOf(lab.near)}/startup.cfg`] },
  });
  t.same([...(diff['settings'] as string[])].sort(), ['scene_width', 'show_grid', 'variables']);
  const { added } = diff['files'] as { added: string[] };
  t.ok(added.includes(`${folderOf(lab.near)}/another`));
  t.equal(added.length, 2);
  await lab.restore(snapshot);
  t.same(await lab.diff(snapshot), same);
});

void t.test('frames flow again, and other projects lose none', async (t) => {
  const other = await hubLine(t, host);
  const lab = await line();
  const { peer: left, near } = await lab.lab.peer(t, lab.near, 1);
  const { peer: right } = await lab.lab.peer(t, lab.far, 1);
  await left.send(near, [frameOf(1)]);
  await right.receive(1);
  const snapshot = await lab.take('then');
  let sent = 0;
  let isOver = false;
  const passing = async (): Promise<void> => {
    while (!isOver) {
      sent++;
      await other.pass([frameOf(sent % 250)], sent);
    }
  };
  const traffic = passing();
  for (let round = 0; round < 3; round++) await lab.restore(snapshot);
  isOver = true;
  await traffic;
  t.ok(sent > 3);
  t.same(
    (await other.pass([frameOf(251)], sent + 1)).map((frame) => frame[20]),
    [...Array.from({ length: sent }, (_, index) => (index + 1) % 250), 251],
    'each frame once, in order',
  );
  const again = await lab.lab.peer(t, lab.near, 2);
  const across = await lab.lab.peer(t, lab.far, 2);
  await again.peer.send(again.near, [frameOf(9)]);
  const arrived = await across.peer.receive(1);
  t.ok(arrived[0]?.equals(frameOf(9)), 'through the link that came back');
  await eventually('nothing is held any more', async () =>
    ((await client.get(`${lab.path}/jobs`)).body as Json[]).length === 0 ? true : undefined,
  );
});
