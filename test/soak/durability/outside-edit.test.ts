/**
 * The topology file and other programs: who wins, and what is kept of the loser. Each test has a project of its own; the
 * servers, one after the other, have them all.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { asReferenceWrites, gns3Problems, parseGns3, type Gns3File } from '../../support/gns3-schema.js';
import { gns3Node } from '../../support/gns3-project.js';
import { NotificationLog } from '../../support/notification-log.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer, type ServerProcess } from '../../support/server-process.js';

interface Lab {
  readonly name: string;
  readonly id: string;
  readonly base: string;
  readonly folder: string;
  readonly path: string;
}

const data = scratchFolder(t);
const aside = scratchFolder(t);
let { server, client } = await started();
const labs = {
  changed: await makeLab('changed'),
  closed: await makeLab('closed'),
  putBack: await makeLab('put back'),
  between: await makeLab('between'),
  deleted: await makeLab('deleted'),
  open: await makeLab('open'),
  stopped: await makeLab('stopped'),
  touched: await makeLab('touched'),
  broken: await makeLab('broken'),
  newer: await makeLab('newer'),
};
t.equal(await server.stop(), 0);

async function started(): Promise<{ server: ServerProcess; client: Client }> {
  const server = await startServer(t, { data });
  return { server, client: new Client(server.url) };
}

/** A project of one node, A. */
async function makeLab(name: string): Promise<Lab> {
  const project = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
  const [id, folder] = [String(project['project_id']), String(project['path'])];
  const lab = { name, id, base: `/v2/projects/${id}`, folder, path: join(folder, `${name}.gns3`) };
  await addNode(lab, 'A');
  return lab;
}

async function addNode({ base }: Lab, name: string): Promise<void> {
  await client.expect(201, 'POST', `${base}/nodes`, { name, node_type: 'atm_switch', compute_id: 'local' });
}

async function open({ base }: Lab): Promise<void> {
  await client.expect(201, 'POST', `${base}/open`);
}

async function shownNames({ base }: Lab): Promise<unknown[]> {
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

async function keptStates({ base }: Lab): Promise<{ name: string; snapshot_id: string }[]> {
  return (await client.get(`${base}/snapshots`)).body as { name: string; snapshot_id: string }[];
}

/** The project as the list shows it. */
async function listed({ id }: Lab): Promise<unknown> {
  const projects = (await client.get('/v2/projects')).body as { project_id: string }[];
  return projects.find(({ project_id }) => project_id === id);
}

/** Edits as an editor does: reads the file, changes it, writes it. */
function edit({ path }: Lab, change: (file: Gns3File) => void): string {
  const file = parseGns3(readFileSync(path, 'utf8'));
  change(file);
  const text = asReferenceWrites(file);
  writeFileSync(path, text);
  return text;
}

function addPc(lab: Lab): string {
  return edit(lab, ({ topology }) => topology.nodes.push(gns3Node('vpcs', { name: 'PC1' })));
}

void t.test('a file changed while the server was down wins, and the state before is kept', async (t) => {
  const lab = labs.changed;
  edit(lab, (file) => {
    file.name = 'edited';
  });
  addPc(lab);
  ({ server, client } = await started());
  await open(lab);
  t.same(await shownNames(lab), ['A', 'PC1'], 'the file wins');
  t.equal((await client.expect(200, 'GET', lab.base))['name'], 'edited', 'its settings, too');
  const [kept, ...more] = await keptStates(lab);
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

  ({ server, client } = await started());
  await open(lab);
  t.same(await shownNames(lab), ['A', 'PC1'], 'the content of the file is stored');
  t.equal(snapshots(lab).length, 1, 'and is not taken over again');
  await client.expect(201, 'POST', `${lab.base}/snapshots/${String(kept?.snapshot_id)}/restore`);
  t.same(await shownNames(lab), ['A'], 'the snapshot holds the state before');
  t.equal(readFileSync(placed, 'utf8'), 'stays', 'and leaves the files as they are');
  t.equal(await server.stop(), 0);
});

const TOUCHED = new Date(Date.now() + 100_000);

void t.test('a file that was only touched changes nothing', async (t) => {
  const lab = labs.touched;
  const before = readFileSync(lab.path, 'utf8');
  const { ino } = statSync(lab.path);
  utimesSync(lab.path, new Date(), TOUCHED);
  const old = join(aside, 'put-back.gns3');
  copyFileSync(labs.putBack.path, old);
  ({ server, client } = await started());
  await open(lab);
  t.same(await shownNames(lab), ['A']);
  // The next test continues with this one.
  await open(labs.putBack);
  await addNode(labs.putBack, 'B');
  t.equal(await server.stop(), 0);
  t.equal(readFileSync(lab.path, 'utf8'), before);
  t.equal(statSync(lab.path).ino, ino, 'the file was not even written');
  t.same(snapshots(lab), []);
  t.notMatch(server.log(), /changed by another program/);
});

void t.test('an earlier file that Wirefarm wrote does not win when it is put back', async (t) => {
  const lab = labs.putBack;
  t.same(fileNames(lab), ['A', 'B']);
  copyFileSync(join(aside, 'put-back.gns3'), lab.path);
  ({ server, client } = await started());
  await eventually('the file is written anew', () => (fileNames(lab).length === 2 ? true : undefined));
  await open(lab);
  t.same(await shownNames(lab), ['A', 'B'], 'the store wins');
  t.same(snapshots(lab), [], 'nothing had to be kept');
  t.notMatch(server.log(), /changed by another program/);
  t.equal(await server.stop(), 0);
});

let good = Buffer.alloc(0);
let broken = Buffer.alloc(0);
let newer = '';

void t.test('files are edited while no server runs, and one does after that', async (t) => {
  copyFileSync(labs.between.path, join(aside, 'between.gns3'));
  addPc(labs.between);
  rmSync(labs.deleted.path);
  good = readFileSync(labs.broken.path);
  broken = good.subarray(0, good.length - 20);
  writeFileSync(labs.broken.path, broken);
  newer = readFileSync(labs.newer.path, 'utf8').replace('"revision": 9', '"revision": 10');
  writeFileSync(labs.newer.path, newer);
  ({ server, client } = await started());
  await open(labs.between);
  t.same(await shownNames(labs.between), ['A', 'PC1']);
});

void t.test('a file changed while its project was closed is reported to listeners', async (t) => {
  const lab = labs.closed;
  const project = await NotificationLog.open(`${server.url}${lab.base}/notifications`);
  const controller = await NotificationLog.open(`${server.url}/v2/notifications`);
  addPc(lab);
  await open(lab);
  for (const stream of [project, controller]) {
    const { event } = await stream.next(({ action }) => action === 'log.warning');
    const [kept] = await keptStates(lab);
    t.ok(String(event['message']).includes(String(kept?.name)), 'the warning names the snapshot');
    stream.close();
  }
  t.same(await shownNames(lab), ['A', 'PC1']);
});

void t.test(
  'a file that was deleted is written anew, even when nothing else was in the folder',
  async (t) => {
    const lab = labs.deleted;
    t.match(await listed(lab), { project_id: lab.id, status: 'closed' });
    await eventually('the file is there again', () => (existsSync(lab.path) ? true : undefined));
    t.same(fileNames(lab), ['A']);
    await open(lab);
    t.same(await shownNames(lab), ['A']);
  },
);

void t.test('a file edited while the project is open is kept aside when ours is written', async (t) => {
  const lab = labs.open;
  await open(lab);
  const controller = await NotificationLog.open(`${server.url}/v2/notifications`);
  const edited = addPc(lab);
  await addNode(lab, 'B');
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
});

void t.test('a file that is no JSON: 409, the store keeps its state', async (t) => {
  const lab = labs.broken;
  t.match(await listed(lab), { project_id: lab.id, name: 'broken', status: 'closed' });
  const refused = await client.post(`${lab.base}/open`);
  t.equal(refused.status, 409);
  t.match(refused.body, { message: /Could not load topology .*broken\.gns3/ });
  t.match((await client.get(`${lab.base}/nodes`)).body, [{ name: 'A' }], 'the stored state is readable');
});

void t.test('a file of another revision under a known project: 409', async (t) => {
  t.match(await client.post(`${labs.newer.base}/open`), {
    status: 409,
    body: { message: /more recent version of GNS3/ },
  });
});

void t.test(
  'after the stop, refused files are as they were, and GNS3 opens those that were kept',
  async (t) => {
    const lab = labs.stopped;
    await open(lab);
    addPc(lab);
    await addNode(lab, 'B');
    t.equal(await server.stop(), 0);
    t.same(readFileSync(labs.broken.path), broken, 'the file was not touched');
    t.equal(readFileSync(labs.newer.path, 'utf8'), newer);
    for (const kept of snapshots(lab)) {
      t.same(gns3Problems(readFileSync(join(lab.folder, 'snapshots', kept), 'utf8')), []);
    }
    t.equal(snapshots(lab).length, 1);
  },
);

void t.test('nor does an earlier file win when somebody edited it in between', async (t) => {
  copyFileSync(join(aside, 'between.gns3'), labs.between.path);
  writeFileSync(labs.broken.path, good);
  ({ server, client } = await started());
  await open(labs.between);
  t.same(await shownNames(labs.between), ['A', 'PC1'], 'the store wins');
  await open(labs.broken);
  t.same(await shownNames(labs.broken), ['A'], 'with the file mended the project opens');
  t.equal(await server.stop(), 0);
});
