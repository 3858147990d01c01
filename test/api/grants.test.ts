/** Projects of users: who sees which, with whom they are shared, and how far. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { routeTable, type Services } from '../../src/api/table.js';
import { addUser, basic, firstAdmin, PASSWORD, signedIn } from '../support/accounts.js';
import { Client, type Reply } from '../support/client.js';
import { NotificationLog } from '../support/notification-log.js';
import { startServer } from '../support/server-process.js';
import { TusTalk } from '../support/tus.js';
import { upgrade } from '../support/upgrade.js';

const server = await startServer(t);
const admin = await firstAdmin(server);
const ann = (await addUser(admin, server, 'ann', 'user')).client;
const bob = (await addUser(admin, server, 'bob', 'user')).client;
const auditor = (await addUser(admin, server, 'auditor', 'auditor')).client;
const operator = (await addUser(admin, server, 'operator', 'operator')).client;

/** No handler runs here. */
const SERVICES: unknown = { controller: {}, compute: {} };
const table = routeTable(SERVICES as Services);

const refused = (status: number, code: string): object => ({ status, body: { status, code } });
const status = async (asked: Promise<Reply>): Promise<number> => (await asked).status;
const namesSeen = async (client: Client): Promise<string[]> =>
  ((await client.get('/v2/projects')).body as { name: string }[]).map(({ name }) => name).sort();

async function newProject(client: Client, name: string): Promise<string> {
  return String((await client.expect(201, 'POST', '/v2/projects', { name }))['project_id']);
}

const ofAnn = await newProject(ann, "ann's");
const ofBob = await newProject(bob, "bob's");
const path = `/v2/projects/${ofAnn}`;

/** The path of a route, with this project and ids of nothing else. */
function pathOf(template: string, projectId: string): string {
  return template
    .replace('{project_id}', projectId)
    .replace(/\{\w+_number\}/g, '0')
    .replace(/\{\w+(:\.\+)?\}/g, randomUUID());
}

void t.test('two users see different projects, and those who may see all see both', async (t) => {
  t.strictSame(await namesSeen(ann), ["ann's"]);
  t.strictSame(await namesSeen(bob), ["bob's"]);
  for (const client of [admin, operator, auditor]) t.strictSame(await namesSeen(client), ["ann's", "bob's"]);
  const page = await ann.get('/controller');
  t.match(page.text, /ann&#39;s|ann's/);
  t.notMatch(page.text, /bob/);
  t.equal(await status(ann.get(path)), 200);
  t.match(await auditor.delete(path), refused(403, 'right_missing'));
});

void t.test('a batch of nodes starts some only for those who may let the lab run', async (t) => {
  const made = await ann.expect(201, 'POST', '/v2/tokens', { name: 'draws', rights: ['projects:write'] });
  const drawing = new Client(server.url, { Authorization: `Bearer ${String(made['token'])}` });
  await ann.expect(201, 'POST', `${path}/open`);
  const batch = `${path}/nodes/batch`;
  t.equal(await status(drawing.post(batch, { delete: [randomUUID()] })), 200);
  for (const action of ['start', 'stop', 'reload']) {
    t.match(await drawing.post(batch, { [action]: [] }), refused(403, 'right_missing'), action);
    t.equal(await status(ann.post(batch, { [action]: [] })), 200, action);
  }
});

void t.test('no route of a project tells a stranger that it is there', async (t) => {
  const routes = table.routes.filter(
    ({ access }) => typeof access === 'object' && access.project !== undefined,
  );
  t.ok(routes.length > 80, `${routes.length} routes`);
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    const answers = [];
    for (const projectId of [ofAnn, randomUUID()]) {
      const reply = await bob.request(route.method, pathOf(route.path, projectId));
      t.match(reply, refused(404, 'project_unknown'), name);
      answers.push(reply.text.replaceAll(projectId, 'ID'));
    }
    t.equal(answers[0], answers[1], `${name} answers as for a project that is not there`);
    const nobody = new Client(server.url);
    t.equal(await status(nobody.request(route.method, pathOf(route.path, ofAnn))), 401, name);
  }
  const sockets = table.sockets.filter(
    ({ access }) => typeof access === 'object' && access.project !== undefined,
  );
  t.ok(sockets.length > 3);
  for (const socket of sockets) {
    const url = server.url + pathOf(socket.path, ofAnn);
    t.equal(await upgrade(url, basic('bob')), 404, socket.path);
    t.equal(await upgrade(url, {}), 401, socket.path);
  }
  t.equal(await status(ann.get(path)), 200, 'it is untouched');
});

void t.test('the interface of computes is for those who may see all projects', async (t) => {
  const routes = table.routes.filter(
    ({ path: template, method }) => method === 'GET' && template.startsWith('/v2/compute/projects'),
  );
  t.ok(routes.length > 20);
  for (const { path: template } of routes)
    t.match(await ann.get(pathOf(template, ofAnn)), refused(403, 'right_missing'), template);
  t.equal(await upgrade(`${server.url}/v2/compute/notifications/ws`, basic('ann')), 403);
});

void t.test('a project is shared so far and no further', async (t) => {
  const share = (grant: string): Promise<unknown> => ann.expect(200, 'PUT', `${path}/grants/bob`, { grant });
  const node = { name: 'SW', node_type: 'ethernet_switch', compute_id: 'local' };
  const { node_id: id } = await ann.expect(201, 'POST', `${path}/nodes`, node);
  const attempts: readonly (readonly [grant: string, method: string, path: string, body?: object])[] = [
    ['view', 'GET', path],
    ['view', 'GET', `${path}/nodes`],
    ['use', 'POST', `${path}/nodes/${String(id)}/start`],
    ['use', 'POST', `${path}/open`],
    ['edit', 'PUT', path, { scene_width: 300 }],
    ['edit', 'POST', `${path}/nodes`, node],
    ['owner', 'PUT', `${path}/grants/auditor`, { grant: 'view' }],
  ];
  const levels = ['view', 'use', 'edit', 'owner'];
  for (const [rank, grant] of levels.entries()) {
    await share(grant);
    t.strictSame(await namesSeen(bob), ["ann's", "bob's"]);
    t.strictSame((await bob.get(`${path}/grant`)).body, { grant });
    for (const [needed, method, asked, body] of attempts) {
      const reply = await bob.request(method, asked, body);
      if (levels.indexOf(needed) <= rank) t.ok(reply.status < 300, `${grant}: ${method} ${asked}`);
      else t.match(reply, refused(403, 'grant_missing'), `${grant}: ${method} ${asked}`);
    }
    const socket = await upgrade(`${server.url}${path}/pcap/ws`, basic('bob'));
    t.equal(socket, rank >= 1 ? 409 : 403, `${grant}: there is no link to capture, or no right to`);
  }
  t.match(await ann.get(`${path}/grants`), {
    body: [
      { name: 'ann', grant: 'owner' },
      { name: 'bob', grant: 'owner' },
      { name: 'auditor', grant: 'view' },
    ],
  });
  await ann.expect(204, 'DELETE', `${path}/grants/bob`);
  t.match(await bob.get(path), refused(404, 'project_unknown'));
  t.match(await ann.delete(`${path}/grants/bob`), refused(404, 'grant_unknown'));
  t.match(await ann.put(`${path}/grants/nobody`, { grant: 'use' }), refused(404, 'user_unknown'));
});

void t.test('nobody gets a project of another by its id', async (t) => {
  const known = { name: 'mine now', project_id: ofAnn };
  t.match(await bob.post('/v2/projects', known), refused(404, 'project_unknown'));
  t.equal(await status(ann.post('/v2/projects', known)), 201, 'a client that makes it again gets it');
  t.match(await bob.post(`${path}/import`, 'x'), { status: 409 });
  t.strictSame(await namesSeen(bob), ["bob's"]);
});

void t.test('an upload into a node is shown to those who see its project', async (t) => {
  const node = await ann.expect(201, 'POST', `${path}/nodes`, {
    name: 'PC',
    node_type: 'vpcs',
    compute_id: 'local',
  });
  const target = { project_id: ofAnn, node_id: String(node['node_id']), path: 'startup.vpc' };
  const upload = await new TusTalk(admin).created(3, target);
  t.equal((await ann.get(upload)).status, 200);
  t.match(await bob.get(upload), refused(404, 'upload_unknown'));
  t.equal((await new TusTalk(bob).head(upload)).status, 404);
  t.equal((await ann.get('/v2/uploads')).text.includes(ofAnn), true);
  t.strictSame((await bob.get('/v2/uploads')).body, []);
});

void t.test('copies belong to those who make them', async (t) => {
  await ann.expect(200, 'PUT', `${path}/grants/bob`, { grant: 'view' });
  const copy = await bob.expect(201, 'POST', `${path}/duplicate`, { name: 'copied' });
  await ann.expect(204, 'DELETE', `${path}/grants/bob`);
  t.strictSame(await namesSeen(bob), ["bob's", 'copied']);
  t.strictSame(await namesSeen(ann), ["ann's"]);
  await bob.expect(204, 'DELETE', `/v2/projects/${String(copy['project_id'])}`);
  // Another project with the id is nobody's who had the first one.
  const again = { name: 'again', project_id: copy['project_id'] };
  await ann.expect(201, 'POST', '/v2/projects', again);
  t.match(await bob.get(`/v2/projects/${String(copy['project_id'])}`), refused(404, 'project_unknown'));
  await ann.expect(204, 'DELETE', `/v2/projects/${String(copy['project_id'])}`);
});

void t.test('notifications tell of the projects that one sees', async (t) => {
  const url = `${server.url}/v2/notifications`;
  const logs = await Promise.all([
    NotificationLog.open(url, basic('bob')),
    NotificationLog.openSocket(`${url}/ws`, basic('bob')),
  ]);
  await ann.expect(200, 'PUT', path, { scene_width: 401 });
  const secret = await newProject(ann, 'secret');
  await ann.expect(204, 'DELETE', `/v2/projects/${secret}`);
  await bob.expect(200, 'PUT', `/v2/projects/${ofBob}`, { scene_width: 402 });
  for (const log of logs) {
    await log.next(({ action, event }) => action === 'project.updated' && event['scene_width'] === 402);
    const told = log.received.filter(({ action }) => action.startsWith('project.'));
    t.strictSame(
      told.map(({ event }) => event['project_id']),
      [ofBob],
    );
    log.close();
  }
});

void t.test('a token for some projects is for nothing else', async (t) => {
  const second = await newProject(ann, 'second');
  const made = await ann.expect(201, 'POST', '/v2/tokens', { name: 'one lab', projects: [second, ofBob] });
  const limited = new Client(server.url, { Authorization: `Bearer ${String(made['token'])}` });
  t.strictSame(await namesSeen(limited), ['second'], 'no more than its owner has');
  t.match(await limited.get(path), refused(404, 'project_unknown'));
  t.match(await limited.post('/v2/projects', { name: 'x' }), refused(403, 'token_for_projects'));
  await limited.expect(200, 'PUT', `/v2/projects/${second}`, { scene_width: 500 });
  const wide = await admin.expect(201, 'POST', '/v2/tokens', { name: 'of an admin', projects: [second] });
  const ofAdmin = new Client(server.url, { Authorization: `Bearer ${String(wide['token'])}` });
  t.match(await ofAdmin.post('/v2/reload'), refused(403, 'right_missing'));
  t.strictSame(await namesSeen(ofAdmin), ['second']);
  await ann.expect(204, 'DELETE', `/v2/projects/${second}`);
});

void t.test('a grant of a group is that of its members and teachers, as long as they are', async (t) => {
  const group = { name: 'Class 1', members: ['bob', 'BOB'] };
  const made = await admin.expect(201, 'POST', '/v2/groups', group);
  t.match(made, { members: ['bob'], teachers: [] });
  t.match(await admin.post('/v2/groups', { name: 'class 1' }), refused(409, 'group_exists'));
  t.match(await ann.post('/v2/groups', { name: 'mine' }), refused(403, 'right_missing'));
  t.match(await admin.put('/v2/groups/class 1', { members: ['nobody'] }), refused(404, 'user_unknown'));
  const shared = `${path}/group-grants/class 1`;
  t.match(await ann.put(shared, { grant: 'use' }), refused(404, 'group_unknown'), 'ann is not in it');
  t.strictSame((await ann.get('/v2/groups')).body, []);
  await admin.expect(200, 'PUT', '/v2/groups/class 1', { teachers: ['ann'] });
  t.match((await ann.get('/v2/groups')).body, [{ name: 'Class 1', members: ['bob'], teachers: ['ann'] }]);
  t.match(await ann.put(shared, { grant: 'owner' }), { status: 400 }, 'a group owns nothing');
  await ann.expect(200, 'PUT', shared, { grant: 'use' });
  t.match((await bob.get(`${path}/group-grants`)).body, [{ name: 'Class 1', grant: 'use' }]);
  t.match(await bob.put(path, { scene_width: 300 }), refused(403, 'grant_missing'));
  await ann.expect(200, 'PUT', `${path}/grants/bob`, { grant: 'edit' });
  t.equal(await status(bob.put(path, { scene_width: 300 })), 200, 'the grant that reaches further counts');
  await ann.expect(204, 'DELETE', `${path}/grants/bob`);
  t.match(await ann.delete(`${path}/grants/bob`), refused(404, 'grant_unknown'));
  await admin.expect(200, 'PUT', '/v2/groups/class 1', { members: [] });
  t.match(await bob.get(path), refused(404, 'project_unknown'));
  await admin.expect(200, 'PUT', '/v2/groups/class 1', { members: ['bob'] });
  await ann.expect(204, 'DELETE', shared);
  t.match(await bob.get(path), refused(404, 'project_unknown'));
  await ann.expect(200, 'PUT', shared, { grant: 'use' });
  t.equal(await status(bob.get(path)), 200);
});

void t.test('names are unique among the projects of one owner', async (t) => {
  const names = { name: "ann's" };
  const ofBoth = await newProject(bob, "ann's");
  t.match(await bob.post('/v2/projects', names), { status: 409 });
  t.match(await ann.put(`${path}/grants/bob`, { grant: 'owner' }), { status: 409 });
  await bob.expect(200, 'PUT', `/v2/projects/${ofBoth}`, { name: 'other' });
  t.match(await bob.put(`/v2/projects/${ofBob}`, { name: 'other' }), { status: 409 });
  await ann.expect(200, 'PUT', `${path}/grants/bob`, { grant: 'owner' });
  t.match(await bob.put(`/v2/projects/${ofBoth}`, names), { status: 409 }, 'it is his now, too');
  await ann.expect(204, 'DELETE', `${path}/grants/bob`);
  const copy = await bob.expect(201, 'POST', `/v2/projects/${ofBoth}/duplicate`, { name: "bob's" });
  t.equal(copy['name'], "bob's-1");
  for (const id of [ofBoth, String(copy['project_id'])])
    await bob.expect(204, 'DELETE', `/v2/projects/${id}`);
});

void t.test('grants are there after a start', async (t) => {
  await server.stop('SIGKILL');
  const again = await startServer(t, { data: server.data });
  t.strictSame(await namesSeen(signedIn(again, 'ann', PASSWORD)), ["ann's"]);
  t.strictSame(await namesSeen(signedIn(again, 'bob')), ["ann's", "bob's"], 'by the grant of the group');
  const root = signedIn(again, 'root');
  await root.expect(204, 'DELETE', '/v2/groups/class 1');
  t.strictSame(await namesSeen(signedIn(again, 'bob')), ["bob's"]);
});
