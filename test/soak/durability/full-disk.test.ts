/** A full disk refuses new writes and damages nothing. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statfsSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { asideNames, projectFolders } from '../../support/aside-folders.js';
import { Client, type Reply } from '../../support/client.js';
import { parseGns3 } from '../../support/gns3-schema.js';
import { NotificationLog } from '../../support/notification-log.js';
import { startServer } from '../../support/server-process.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';

type Json = Readonly<Record<string, unknown>>;
/** Requests of one sort until the disk has no room for another. */
const MOST = 400;

/** Repeats a request until it is refused; returns the refusal and what was acknowledged before. */
async function untilRefused(make: () => Promise<Reply>): Promise<{ refusal: Reply; accepted: Json[] }> {
  const accepted: Json[] = [];
  for (let count = 0; count < MOST; count++) {
    const reply = await make();
    if (reply.status >= 400) return { refusal: reply, accepted };
    accepted.push((reply.body ?? {}) as Json);
  }
  throw new Error(`${MOST} requests found room on a full disk`);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Uploads over a connection of its own, and does not wait until that is closed. */
async function uploadStatus(url: string, body: Uint8Array): Promise<number | undefined> {
  const upload = request(url, { method: 'POST', agent: false });
  upload.on('error', () => undefined);
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  upload.end(body);
  const [response] = await answered;
  response.destroy();
  return response.statusCode;
}

const isFull = { status: 507, body: { status: 507, message: /No space left/ } };
void t.test('writes are refused with 507, leave nothing, and work again once there is room', async (t) => {
  const disk = smallDisk(t, 8 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const data = join(disk, 'data');
  mkdirSync(data);
  const server = await startServer(t, { data });
  const client = new Client(server.url);
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  const base = `/v2/projects/${String(project['project_id'])}`;
  const nodes: Json[] = [];
  const node = (): Promise<Reply> =>
    client.post(`${base}/nodes`, { name: 'S', node_type: 'ethernet_switch', compute_id: 'local' });
  for (let index = 0; index < 20; index++) nodes.push((await node()).body as Json);
  const drawings: Json[] = [];
  const links: Json[] = [];
  let nextPort = 0;
  const link = (): Promise<Reply> => {
    const [from, to] = [nodes[Math.floor(nextPort / 8) * 2], nodes[Math.floor(nextPort / 8) * 2 + 1]];
    const ends = [from, to].map((end) => ({
      node_id: end?.['node_id'],
      adapter_number: 0,
      port_number: nextPort % 8,
      label: { text: 'x'.repeat(4000) },
    }));
    return client.post(`${base}/links`, { nodes: ends }).then((reply) => {
      if (reply.status === 201) nextPort++;
      return reply;
    });
  };
  links.push((await link()).body as Json);
  const events = await NotificationLog.open(`${server.url}${base}/notifications`);
  const announcements = await NotificationLog.open(`${server.url}/v2/notifications`);
  t.teardown(() => {
    events.close();
    announcements.close();
  });
  const topology = await client.request('GET', `${base}/files/lab.gns3`);
  t.equal(parseGns3(topology.text).topology.nodes.length, nodes.length);

  const giveBack = fillDisk(disk);
  const before = filesBelow(join(data, 'projects'));
  const listed = (await client.get('/v2/projects')).text;

  const svg = `<svg>${'x'.repeat(100_000)}</svg>`;
  const drawn = await untilRefused(() => client.post(`${base}/drawings`, { svg }));
  t.match(drawn.refusal, isFull, 'a drawing is refused');
  drawings.push(...drawn.accepted);
  const linked = await untilRefused(link);
  t.match(linked.refusal, isFull, 'a link is refused');
  links.push(...linked.accepted);
  const made = await untilRefused(node);
  t.match(made.refusal, isFull, 'a node is refused');
  nodes.push(...made.accepted);
  const [first] = nodes;
  // Writing over what is there may find room in the store: then it must hold.
  const moved = await client.put(`${base}/nodes/${String(first?.['node_id'])}`, { x: 4711 });
  t.ok(moved.status === 200 || moved.status === 507, 'a change of a node is stored or refused');
  if (moved.status === 200) nodes[0] = moved.body as Json;

  const id = randomUUID();
  const created = await client.post('/v2/projects', { name: 'late', project_id: id, auto_close: false });
  t.match(created, isFull, 'a project is refused');
  t.same(projectFolders(data), [String(project['project_id'])], 'and no folder is left of it');
  t.equal((await client.get(`/v2/projects/${id}`)).status, 404);
  const uploaded = await client.request('POST', `${base}/files/big.bin`, new Uint8Array(300_000));
  t.match(uploaded, isFull, 'an upload is refused');

  t.equal((await client.get('/v2/projects')).text, listed, 'the projects are as before');
  t.same((await client.get(`${base}/nodes`)).body, nodes, 'the nodes are those that were acknowledged');
  t.same((await client.get(`${base}/links`)).body, links, 'so are the links');
  t.same((await client.get(`${base}/drawings`)).body, drawings, 'so are the drawings');
  t.same(filesBelow(join(data, 'projects')), before, 'no file is left of anything that was refused');

  giveBack();
  const drawing = await client.expect(201, 'POST', `${base}/drawings`, { svg });
  drawings.push(drawing);
  nodes.push(
    await client.expect(201, 'POST', `${base}/nodes`, {
      name: 'last',
      node_type: 'atm_switch',
      compute_id: 'local',
    }),
  );
  const late = await client.post('/v2/projects', { name: 'late', project_id: id, auto_close: false });
  t.equal(late.status, 201, 'a project is made once there is room, with the name that was refused before');
  t.equal((await client.request('POST', `${base}/files/big.bin`, new Uint8Array(300_000))).status, 201);

  await events.next(({ event }) => event['drawing_id'] === drawing['drawing_id']);
  await events.next(({ event }) => event['name'] === 'last');
  await announcements.next(({ action, event }) => action === 'project.created' && event['project_id'] === id);
  const told = (action: string): unknown[] =>
    events.received.filter((notification) => notification.action === action).map(({ event }) => event);
  t.same(
    told('drawing.created'),
    drawings,
    'listeners were told of the drawings that were stored, and no other',
  );
  t.same(
    told('node.created').map((event) => (event as Json)['node_id']),
    nodes.slice(20).map((object) => object['node_id']),
    'of the nodes that were stored, and no other',
  );
  t.equal(told('link.created').length, links.length - 1, 'of the links that were stored, and no other');
  t.equal(
    told('node.updated').length,
    moved.status === 200 ? 1 : 0,
    'of the changes that were stored, and no other',
  );
  t.same(
    announcements.received.map(({ action }) => action),
    ['project.created'],
    'nobody was told of the project that was refused',
  );

  await server.stop('SIGKILL');
  const again = await startServer(t, { data });
  const reader = new Client(again.url);
  await reader.expect(201, 'POST', `${base}/open`);
  t.same((await reader.get(`${base}/nodes`)).body, nodes, 'after a kill the nodes are there');
  t.same((await reader.get(`${base}/links`)).body, links, 'and the links');
  t.same((await reader.get(`${base}/drawings`)).body, drawings, 'and the drawings');
  t.equal((await reader.get(`/v2/projects/${id}`)).status, 200, 'and the project');
  t.equal(await again.stop(), 0);
  const [file = ''] = filesBelow(join(data, 'projects')).filter((path) => path.endsWith('lab.gns3'));
  t.ok(file);
});

void t.test('a server starts, reads and stops on a disk that is full', async (t) => {
  const disk = smallDisk(t, 8 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const data = join(disk, 'data');
  mkdirSync(data);
  const first = await startServer(t, { data });
  const client = new Client(first.url);
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  const base = `/v2/projects/${String(project['project_id'])}`;
  const giveBack = fillDisk(disk, 200_000);
  const svg = `<svg>${'y'.repeat(30_000)}</svg>`;
  const { accepted } = await untilRefused(() => client.post(`${base}/drawings`, { svg }));
  t.ok(accepted.length > 0);
  await first.stop('SIGKILL');
  fillDisk(disk);

  const second = await startServer(t, { data });
  const reader = new Client(second.url);
  await reader.expect(201, 'POST', `${base}/open`);
  t.same((await reader.get(`${base}/drawings`)).body, accepted, 'what was acknowledged is readable');
  t.equal(await second.stop(), 0, 'and the server stops cleanly, though it cannot write the topology file');

  giveBack();
  const third = await startServer(t, { data });
  const writer = new Client(third.url);
  await writer.expect(201, 'POST', `${base}/open`);
  const file = await writer.request('GET', `${base}/files/lab.gns3`);
  t.equal(
    parseGns3(file.text).topology.drawings.length,
    accepted.length,
    'the file follows once there is room',
  );
  t.equal(await third.stop(), 0);
});

void t.test('an upload that reaches the end of the disk midway leaves the old file', async (t) => {
  const disk = smallDisk(t, 12 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const data = join(disk, 'data');
  mkdirSync(data);
  const server = await startServer(t, { data });
  const client = new Client(server.url);
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  const path = `/v2/projects/${String(project['project_id'])}/files/disk.img`;
  t.equal((await client.request('POST', path, 'the old content')).status, 201);
  const before = filesBelow(join(data, 'projects'));
  const { bavail, bsize } = statfsSync(disk);
  const large = new Uint8Array(bavail * bsize + 1_000_000).fill(7);
  t.equal(await uploadStatus(server.url + path, large), 507);
  t.same(filesBelow(join(data, 'projects')), before, 'no temporary file is left');
  t.equal((await client.request('GET', path)).text, 'the old content');
  t.ok(statfsSync(disk).bavail >= bavail - 16, 'the room is free again');
  t.equal((await client.request('POST', path, 'the new content')).status, 201);
  t.equal((await client.request('GET', path)).text, 'the new content');
  t.equal(await server.stop(), 0);
});

void t.test('on a full disk a project can be deleted, which makes room', async (t) => {
  const disk = smallDisk(t, 8 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const data = join(disk, 'data');
  mkdirSync(data);
  const server = await startServer(t, { data });
  const client = new Client(server.url);
  const ids: string[] = [];
  for (const name of ['old', 'new']) {
    const project = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
    ids.push(String(project['project_id']));
  }
  const [old = '', kept = ''] = ids;
  t.equal(
    (await client.request('POST', `/v2/projects/${old}/files/a.bin`, new Uint8Array(500_000))).status,
    201,
  );
  const nodes = `/v2/projects/${kept}/nodes`;
  const node = { name: 'S', node_type: 'ethernet_switch', compute_id: 'local' };
  const { node_id } = await client.expect(201, 'POST', nodes, node);
  fillDisk(disk);
  const svg = `<svg>${'z'.repeat(100_000)}</svg>`;
  await untilRefused(() => client.post(`/v2/projects/${kept}/drawings`, { svg }));
  await untilRefused(() => client.post(nodes, node));
  t.equal(
    (await client.delete(`${nodes}/${String(node_id)}`)).status,
    204,
    'a node can be deleted, which makes none',
  );
  t.equal((await client.delete(`/v2/projects/${old}`)).status, 204);
  t.equal((await client.post(`/v2/projects/${kept}/drawings`, { svg })).status, 201, 'there is room now');
  t.same([...projectFolders(data), ...asideNames(data)], [kept]);
  t.equal(await server.stop(), 0);
});
