/** The history of projects and of the server, over HTTP and on the disk. */
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { addUser, basic, firstAdmin } from '../support/accounts.js';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { withEngineKiller } from '../support/engine-killer.js';
import { eventually } from '../support/eventually.js';
import { programsOf } from '../support/node-lab.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';

interface ShownEvent {
  readonly kind: string;
  readonly message: string;
  readonly subject: string | null;
  readonly time: string;
  readonly times: number;
  readonly user: string | null;
}

const engines = join(scratchFolder(t), 'engines end at once');
const data = scratchFolder(t);
const server = await startServer(t, { data, environment: withEngineKiller(engines) });
const admin = await firstAdmin(server);
const { client: ada } = await addUser(admin, server, 'ada', 'user');
const { client: bob } = await addUser(admin, server, 'bob', 'user');
const made = await ada.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
const project = `/v2/projects/${String(made['project_id'])}`;
const file = join(data, 'history', `${String(made['project_id'])}.jsonl`);

async function historyOf(client: Client, path = `${project}/history`): Promise<ShownEvent[]> {
  const { status, body } = await client.get(path);
  if (status !== 200) throw new Error(`${path}: ${status}`);
  return body as ShownEvent[];
}

async function newNode(node_type: string, name: string, properties = {}): Promise<string> {
  const wanted = { node_type, name, compute_id: 'local', properties };
  return String((await ada.expect(201, 'POST', `${project}/nodes`, wanted))['node_id']);
}

void t.test('a change is there with who made it, for those who see the project', async (t) => {
  const id = await newNode('ethernet_hub', 'HUB');
  await ada.expect(200, 'PUT', `${project}/nodes/${id}`, { x: 7 });
  const [last, first] = await historyOf(ada);
  t.match(first, { kind: 'change', message: /: HUB$/, subject: null, user: 'ada', times: 1 });
  t.match(last, { kind: 'change', subject: id, user: 'ada' });
  t.same(await historyOf(admin), await historyOf(ada));
  t.equal((await bob.get(`${project}/history`)).status, 404);
  t.equal((await ada.get('/v2/admin/history')).status, 403);
  t.equal((await ada.put(`${project}/nodes/${id}`, { x: 'left' })).status, 400);
  t.equal((await historyOf(ada)).length, 2, 'a refused change is none');
});

void t.test('sign-ins are there once for an address, wrong ones too', async (t) => {
  await new Client(server.url, basic('ada', 'wrong')).get('/v2/version');
  const events = await historyOf(admin, '/v2/admin/history?kind=signed_in,sign_in_refused');
  t.match(events, [
    { kind: 'sign_in_refused', message: /127\.0\.0\.1/, user: null },
    { kind: 'signed_in', user: 'ada' },
    { kind: 'signed_in', user: 'root' },
  ]);
});

/** The newest event of a kind, when there is one. */
function happened(kind: string, client = ada, path = `${project}/history`): Promise<ShownEvent> {
  return eventually(`${path} has ${kind}`, async () => (await historyOf(client, `${path}?kind=${kind}`))[0]);
}

void t.test('an end of a program is there with its last output', async (t) => {
  const node_id = await newNode('vpcs', 'PC1');
  await ada.expect(200, 'POST', `${project}/nodes/${node_id}/start`);
  for (const pid of programsOf({ node_id })) process.kill(pid, 'SIGKILL');
  const message = /^PC1 ended: signal \S+\n[^]*Virtual PC Simulator/;
  t.match(await happened('node_ended'), { subject: node_id, message, user: null });
});

void t.test('a start that fails is there with the reason', async (t) => {
  const properties = { hda_disk_image: '', kernel_image: '', options: '-nonsense' };
  const node_id = await newNode('qemu', 'VM1', properties);
  const { status, text } = await ada.post(`${project}/nodes/${node_id}/start`);
  t.equal(status, 409, text);
  t.match(await happened('node_not_started'), { subject: node_id, message: /^VM1 did not start: / });
});

void t.test('losses that begin are there, once, and a capture that ends by itself', async (t) => {
  const lab = await ComputeLab.open(admin, String(made['project_id']));
  const ends = [await newNode('ethernet_switch', 'SW1'), await newNode('ethernet_hub', 'HUB2')];
  const nodes = ends.map((node_id) => ({ node_id, adapter_number: 0, port_number: 0 }));
  const link = await ada.expect(201, 'POST', `${project}/links`, { nodes });
  const path = `${project}/links/${String(link['link_id'])}`;
  await ada.expect(201, 'POST', `${path}/start_capture`, {});
  await ada.expect(204, 'DELETE', path);
  t.match(await happened('capture_ended'), { message: /^The capture to \S+ ended: its port was detached$/ });
  const peer = await UdpPeer.open(t);
  const port = await lab.join(`${lab.path}/ethernet_switch/nodes/${ends[0] ?? ''}`, 1, peer);
  await peer.send(port, [Buffer.from('short'), Buffer.from('short')]);
  t.match(await happened('drops_began'), { message: 'Frames are lost: malformed', times: 1 });
});

void t.test('a restart of an engine is there for the server and for its labs', async (t) => {
  server.child.kill('SIGUSR2');
  t.match(await happened('engine_restarted'), { message: /restarted/ });
  t.match(await happened('engine_restarted', admin, '/v2/admin/history'), { message: /restarted/ });
});

void t.test('times, kinds and a limit choose among the events', async (t) => {
  const all = await historyOf(ada);
  const [newest, second] = all;
  t.same(await historyOf(ada, `${project}/history?limit=1`), [newest]);
  t.same(
    await historyOf(ada, `${project}/history?since=${newest?.time ?? ''}`),
    all.filter(({ time }) => time >= (newest?.time ?? '')),
  );
  t.same(
    await historyOf(ada, `${project}/history?until=${second?.time ?? ''}`),
    all.filter(({ time }) => time <= (second?.time ?? '')),
  );
  for (const wrong of ['limit=0', 'limit=1001', 'kind=nothing', 'since=yesterday', 'colour=red'])
    t.equal((await ada.get(`${project}/history?${wrong}`)).status, 400, wrong);
});

void t.test('a killed server has left what was written, and damage is set aside', async (t) => {
  const node_id = await newNode('vpcs', 'PC2');
  await ada.expect(200, 'POST', `${project}/nodes/${node_id}/start`);
  const before = await historyOf(ada);
  await server.stop('SIGKILL');
  const lines = readFileSync(file, 'utf8').split('\n');
  writeFileSync(file, [lines[0], '{"kind":"change"', ...lines.slice(1)].join('\n'));
  appendFileSync(file, '{"kind":"node_en');
  const second = await startServer(t, { data });
  const client = new Client(second.url, basic('ada'));
  t.same(
    (await historyOf(client)).filter(({ time }) => time <= (before[0]?.time ?? '')),
    before,
  );
  await second.logged(/a damaged file of the history was set aside/);
  t.equal(damagedIn(data).length, 1);
  t.match(await happened('node_resumed', client), { subject: node_id, message: /^PC2 ran when/ });
  await client.expect(204, 'DELETE', project);
  t.same(ownFiles(), [], 'the history goes with the project');
  await second.stop();
});

function damagedIn(folder: string): string[] {
  return readdirSync(join(folder, 'history')).filter((name) => name.includes('.damaged-'));
}

function ownFiles(): string[] {
  const id = String(made['project_id']);
  return readdirSync(join(data, 'history')).filter((name) => name.startsWith(id));
}
