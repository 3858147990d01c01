/** The topology file and other programs: who wins, and what is kept of the loser. */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { asReferenceWrites, gns3Problems, parseGns3, type Gns3File } from '../support/gns3-schema.js';
import { gns3Node } from '../support/gns3-project.js';
import { NotificationLog } from '../support/notification-log.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

interface Lab {
  readonly data: string;
  readonly id: string;
  readonly base: string;
  readonly folder: string;
  readonly path: string;
}

const root = scratchFolder(t);
const [data, untouched] = [join(root, 'data'), join(root, 'untouched')];
const stopped = await makeLab();
renameSync(data, untouched);

/** A data folder with one closed project of one node, A; the server that made it is down. Of one test at a time. */
function stoppedLab(): Lab {
  rmSync(data, { recursive: true, force: true });
  cpSync(untouched, data, { recursive: true, preserveTimestamps: true });
  return stopped;
}

async function makeLab(): Promise<Lab> {
  const server = await startServer(t, { data });
  const client = new Client(server.url);
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  const id = String(project['project_id']);
  const lab = {
    data,
    id,
    base: `/v2/projects/${id}`,
    folder: String(project['path']),
    path: join(String(project['path']), 'lab.gns3'),
  };
  await addNode(client, lab, 'A');
  t.equal(await server.stop(), 0);
  return lab;
}

async function addNode(client: Client, { base }: Lab, name: string): Promise<void> {
  await client.expect(201, 'POST', `${base}/nodes`, { name, node_type: 'atm_switch', compute_id: 'local' });
}

/** Starts a server on the lab and opens it. */
async function opened(t: Test, lab: Lab): Promise<{ server: ServerProcess; client: Client }> {
  const server = await startServer(t, { data: lab.data });
  const client = new Client(server.url);
  await client.expect(201, 'POST', `${lab.base}/open`);
  return { server, client };
}

async function shownNames(client: Client, { base }: Lab): Promise<unknown[]> {
  const nodes = (await client.get(`${base}/nodes`)).body as { name: string }[];
  return nodes.map(({ name }) => name);
}

const namesIn = (text: string): string[] => parseGns3(text).topology.nodes.map(({ name }) => name);

function fileNames({ path }: Lab): string[] {
  return namesIn(readFileSync(path, 'utf8'));
}

function snapshots({ folder }: Lab): string[] {
  const kept = join(folder, 'snapshots');
  return existsSync(kept) ? readdirSync(kept) : [];
}

async function keptStates(client: Client, { base }: Lab): Promise<{ name: string; snapshot_id: string }[]> {
  return (await client.get(`${base}/snapshots`)).body as { name: string; snapshot_id: string }[];
}

/** What an editor does: reads the file, changes it, writes it. */
function edit({ path }: Lab, change: (file: Gns3File) => void): string {
  const file = parseGns3(readFileSync(path, 'utf8'));
  change(file);
  const text = asReferenceWrites(file);
  writeFileSync(path, text);
  return text;
}

void t.test('a file changed while the server was down wins, and the state before is kept', async (t) => {
  const lab = stoppedLab();
  edit(lab, (file) => {
    file.name = 'edited';
    file.topology.nodes.push(gns3Node('vpcs', { name: 'PC1' }));
  });
  const { server, client } = await opened(t, lab);
  t.same(await shownNames(client, lab), ['A', 'PC1'], 'the file wins');
  t.equal((await client.expect(200, 'GET', lab.base))['name'], 'edited', 'its settings, too');
  const [kept, ...more] = await keptStates(client, lab);
  t.same(more, [], 'one snapshot is kept');
  const reports = server
    .log()
    .split('\n')
    .filter((line) => line.includes('changed by another program'));
  t.equal(reports.length, 1, 'the change is reported once');
  t.ok(reports[0]?.includes(String(kept?.name)), 'and the report names the snapshot');
  const placed = join(lab.folder, 'project-files', 'placed');
  mkdirSync(dirname(placed), { recursive: true });
  writeFileSync(placed, 'stays');
  await server.stop('SIGKILL');

  const again = await opened(t, lab);
  t.same(await shownNames(again.client, lab), ['A', 'PC1'], 'what was taken over is stored');
  t.equal(snapshots(lab).length, 1, 'and is not taken over again');
  await again.client.expect(201, 'POST', `${lab.base}/snapshots/${String(kept?.snapshot_id)}/restore`);
  t.same(await shownNames(again.client, lab), ['A'], 'the snapshot holds the state before');
  t.equal(readFileSync(placed, 'utf8'), 'stays', 'and leaves the files as they are');
  t.equal(await again.server.stop(), 0);
});

void t.test('a file changed while its project was closed is reported to listeners', async (t) => {
  const lab = stoppedLab();
  const server = await startServer(t, { data: lab.data });
  const client = new Client(server.url);
  const project = await NotificationLog.open(`${server.url}${lab.base}/notifications`);
  const controller = await NotificationLog.open(`${server.url}/v2/notifications`);
  edit(lab, ({ topology }) => topology.nodes.push(gns3Node('vpcs', { name: 'PC1' })));
  await client.expect(201, 'POST', `${lab.base}/open`);
  for (const stream of [project, controller]) {
    const { event } = await stream.next(({ action }) => action === 'log.warning');
    const [kept] = await keptStates(client, lab);
    t.ok(String(event['message']).includes(String(kept?.name)), 'the warning names the snapshot');
    stream.close();
  }
  t.same(await shownNames(client, lab), ['A', 'PC1']);
  t.equal(await server.stop(), 0);
});

void t.test('an earlier file that Wirefarm wrote does not win when it is put back', async (t) => {
  const lab = stoppedLab();
  const old = join(scratchFolder(t), 'old.gns3');
  copyFileSync(lab.path, old);
  const { server, client } = await opened(t, lab);
  await addNode(client, lab, 'B');
  t.equal(await server.stop(), 0);
  t.same(fileNames(lab), ['A', 'B']);
  copyFileSync(old, lab.path);

  const again = await startServer(t, { data: lab.data });
  await eventually('the file is written anew', () => (fileNames(lab).length === 2 ? true : undefined));
  const reader = new Client(again.url);
  await reader.expect(201, 'POST', `${lab.base}/open`);
  t.same(await shownNames(reader, lab), ['A', 'B'], 'the store wins');
  t.same(snapshots(lab), [], 'nothing had to be kept');
  t.notMatch(again.log(), /changed by another program/);
  t.equal(await again.stop(), 0);
});

void t.test('nor does it when somebody edited the file in between', async (t) => {
  const lab = stoppedLab();
  const old = join(scratchFolder(t), 'old.gns3');
  copyFileSync(lab.path, old);
  edit(lab, ({ topology }) => topology.nodes.push(gns3Node('vpcs', { name: 'PC1' })));
  const { server } = await opened(t, lab);
  t.equal(await server.stop(), 0);
  copyFileSync(old, lab.path);
  const again = await opened(t, lab);
  t.same(await shownNames(again.client, lab), ['A', 'PC1'], 'the store wins');
  t.equal(await again.server.stop(), 0);
});

void t.test(
  'a file that was deleted is written anew, even when nothing else was in the folder',
  async (t) => {
    const lab = stoppedLab();
    rmSync(lab.path);
    const server = await startServer(t, { data: lab.data });
    const client = new Client(server.url);
    t.match((await client.get('/v2/projects')).body, [{ project_id: lab.id, status: 'closed' }]);
    await eventually('the file is there again', () => (existsSync(lab.path) ? true : undefined));
    t.same(fileNames(lab), ['A']);
    await client.expect(201, 'POST', `${lab.base}/open`);
    t.same(await shownNames(client, lab), ['A']);
    t.equal(await server.stop(), 0);
  },
);

void t.test('a file edited while the project is open is kept aside when ours is written', async (t) => {
  const lab = stoppedLab();
  const { server, client } = await opened(t, lab);
  const controller = await NotificationLog.open(`${server.url}/v2/notifications`);
  const edited = edit(lab, ({ topology }) => topology.nodes.push(gns3Node('vpcs', { name: 'PC1' })));
  await addNode(client, lab, 'B');
  await client.expect(204, 'POST', `${lab.base}/close`);
  t.same(fileNames(lab), ['A', 'B'], 'the file is what the server knows');
  const [kept = '', ...more] = snapshots(lab);
  t.same(more, []);
  t.equal(
    readFileSync(join(lab.folder, 'snapshots', kept), 'utf8'),
    edited,
    'the other version is kept, byte for byte',
  );
  const { event } = await controller.next(({ action }) => action === 'log.warning');
  t.ok(String(event['message']).includes(kept), 'and the warning names it');
  controller.close();
  t.equal(await server.stop(), 0);
});

void t.test('a file that was only touched changes nothing', async (t) => {
  const lab = stoppedLab();
  const before = readFileSync(lab.path, 'utf8');
  const { ino } = statSync(lab.path);
  utimesSync(lab.path, new Date(), new Date(Date.now() + 100_000));
  const { server, client } = await opened(t, lab);
  t.same(await shownNames(client, lab), ['A']);
  t.equal(await server.stop(), 0);
  t.equal(readFileSync(lab.path, 'utf8'), before);
  t.equal(statSync(lab.path).ino, ino, 'the file was not even written');
  t.same(snapshots(lab), []);
  t.notMatch(server.log(), /changed by another program/);
});

void t.test('a file that is no JSON: 409, the store keeps its state, the file stays', async (t) => {
  const lab = stoppedLab();
  const good = readFileSync(lab.path);
  const broken = good.subarray(0, good.length - 20);
  writeFileSync(lab.path, broken);
  const server = await startServer(t, { data: lab.data });
  const client = new Client(server.url);
  t.match((await client.get('/v2/projects')).body, [{ project_id: lab.id, name: 'lab', status: 'closed' }]);
  const refused = await client.post(`${lab.base}/open`);
  t.equal(refused.status, 409);
  t.match(refused.body, { message: /Could not load topology .*lab\.gns3/ });
  t.match((await client.get(`${lab.base}/nodes`)).body, [{ name: 'A' }], 'the stored state is readable');
  t.equal(await server.stop(), 0);
  t.same(readFileSync(lab.path), broken, 'the file was not touched');

  writeFileSync(lab.path, good);
  const again = await opened(t, lab);
  t.same(await shownNames(again.client, lab), ['A'], 'with the file mended the project opens');
  t.equal(await again.server.stop(), 0);
});

void t.test('a file of another revision under a known project: 409, and the file stays', async (t) => {
  const lab = stoppedLab();
  const text = readFileSync(lab.path, 'utf8').replace('"revision": 9', '"revision": 10');
  writeFileSync(lab.path, text);
  const server = await startServer(t, { data: lab.data });
  const client = new Client(server.url);
  t.match(await client.post(`${lab.base}/open`), {
    status: 409,
    body: { message: /more recent version of GNS3/ },
  });
  t.equal(await server.stop(), 0);
  t.equal(readFileSync(lab.path, 'utf8'), text);
});

void t.test('what is kept aside of an open project is a file that GNS3 opens', async (t) => {
  const lab = stoppedLab();
  const { server, client } = await opened(t, lab);
  edit(lab, ({ topology }) => topology.nodes.push(gns3Node('vpcs', { name: 'PC1' })));
  await addNode(client, lab, 'B');
  t.equal(await server.stop(), 0);
  for (const kept of snapshots(lab)) {
    t.same(gns3Problems(readFileSync(join(lab.folder, 'snapshots', kept), 'utf8')), []);
  }
  t.equal(snapshots(lab).length, 1);
});
