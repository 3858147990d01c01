/** A server that is drained: no new work begins, and what runs goes on. */
import t, { type Test } from 'tap';
import { cli } from '../support/cli.js';
import { Client, type Reply } from '../support/client.js';
import { programsOf } from '../support/node-lab.js';
import { startServer } from '../support/server-process.js';
import { image, TusTalk } from '../support/tus.js';

const server = await startServer(t);
const client = new Client(server.url);
const project = await newProject('runs');
const closed = await newProject('rests');
await client.expect(204, 'POST', `${closed}/close`);
const running = await newNode('PC1');
const stopped = await newNode('PC2');
await client.expect(200, 'POST', `${project}/nodes/${running}/start`);
const [pid] = programsOf({ node_id: running });

async function newProject(name: string): Promise<string> {
  const made = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
  return `/v2/projects/${String(made['project_id'])}`;
}

async function newNode(name: string): Promise<string> {
  const wanted = { node_type: 'vpcs', compute_id: 'local', name };
  return String((await client.expect(201, 'POST', `${project}/nodes`, wanted))['node_id']);
}

function isRefused(t: Test, { status, body, headers }: Reply, what: string): void {
  t.match({ status, body }, { status: 503, body: { code: 'server_draining' } }, what);
  t.equal(headers.get('retry-after'), '30', what);
}

const tus = new TusTalk(client);

/** The requests that begin work, and how each is answered when the server takes it. */
const WORK: readonly (readonly [what: string, status: number, begin: () => Promise<Reply>])[] = [
  ['a project is made', 201, () => client.post('/v2/projects', { name: 'new', auto_close: false })],
  ['a project opens', 201, () => client.post(`${closed}/open`)],
  ['a node starts', 200, () => client.post(`${project}/nodes/${stopped}/start`)],
  ['a node is reloaded', 200, () => client.post(`${project}/nodes/${running}/reload`)],
  ['a file is uploaded', 201, () => client.post(`${project}/files/notes.txt`, 'text')],
  ['an image is uploaded', 204, () => client.post('/v2/compute/qemu/images/b.img', 'image')],
  ['a snapshot is made', 201, () => client.post(`${closed}/snapshots`, { name: 'first' })],
];

void t.test('no work begins while the server is drained, and a node that runs goes on', async (t) => {
  const { code, output } = await cli(t, ['drain', '--wait', '--url', server.url]);
  t.match({ code, output }, { code: 0, output: /takes no new work, and nothing is under way/ });
  t.match(await client.get('/readyz'), { status: 503, body: { failing: [/^drain: /] } });
  for (const [what, , begin] of WORK) isRefused(t, await begin(), what);
  t.match(await tus.begin(5, image('c.img')), { status: 503, body: { code: 'server_draining' } });
  t.match(await client.get(`${project}/nodes/${running}`), { body: { status: 'started' } });
  t.same(programsOf({ node_id: running }), [pid], 'its program is the same');
  t.match(await client.get('/v2/admin/drain'), { body: { on: true, jobs: 0, uploads: 0 } });
});

void t.test('work begins again when the drain is over', async (t) => {
  const { code, output } = await cli(t, ['drain', '--off', '--url', server.url]);
  t.match({ code, output }, { code: 0, output: /takes new work/ });
  t.equal((await client.get('/readyz')).status, 200);
  for (const [what, status, begin] of WORK) t.equal((await begin()).status, status, what);
  t.equal((await tus.begin(5, image('c.img'))).status, 201);
  const wrong = await cli(t, ['drain', '--off', '--wait', '--url', server.url]);
  t.match(wrong, { code: 2, errors: /exclude each other/ });
});
