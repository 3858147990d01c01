/**
 * Streams and WebSockets end with the credentials that opened them, and with the right or the grant. Tickets stand for
 * credentials, once.
 */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { ANYONE } from '../../src/http/caller.js';
import { Tickets } from '../../src/http/tickets.js';
import { addUser, basic, firstAdmin, PASSWORD, signedIn } from '../support/accounts.js';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { end, LinkLab } from '../support/link-lab.js';
import { startServer } from '../support/server-process.js';
import { missingVpcs } from '../support/vpcs.js';

const FORBIDDEN = 1008;
type Credentials = Readonly<Record<string, string>>;

const server = await startServer(t, { flags: ['--log-level', 'debug'] });
const admin = await firstAdmin(server);
const { id: annId, client: ann } = await addUser(admin, server, 'ann', 'user');
await addUser(admin, server, 'bob', 'user');
const { id: catId, client: cat } = await addUser(admin, server, 'cat', 'user');
const made = await ann.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
const PROJECT = String(made['project_id']);
const project = `/v2/projects/${PROJECT}`;

/** Opens a WebSocket; returns the code with which it will be closed. */
async function opened(t: Test, path: string, headers: Credentials): Promise<{ closed: Promise<number> }> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, { headers });
  t.teardown(() => {
    socket.terminate();
  });
  const closed = once(socket, 'close').then(([code]: number[]) => code ?? 0);
  await once(socket, 'open');
  return { closed };
}

void t.test('streams end with what opened them, and others go on', async (t) => {
  const key = await ann.expect(201, 'POST', '/v2/tokens', { name: 'script' });
  const bearer = { Authorization: `Bearer ${String(key['token'])}` };
  await ann.expect(200, 'PUT', `${project}/grants/bob`, { grant: 'view' });
  const kept = await opened(t, `${project}/notifications/ws`, basic('root'));
  let isKept = true;
  void kept.closed.then(() => (isKept = false));

  const ofToken = await opened(t, '/v2/notifications/ws', bearer);
  const lines = await fetch(`${server.url}${project}/notifications`, { headers: bearer });
  t.equal(lines.status, 200);
  const ofGrant = await opened(t, `${project}/notifications/ws`, basic('bob'));
  const ofPassword = await opened(t, `${project}/notifications/ws`, basic('ann'));

  await ann.expect(204, 'DELETE', `/v2/tokens/${String(key['token_id'])}`);
  t.equal(await ofToken.closed, FORBIDDEN, 'a revoked token');
  t.match(await lines.text(), /"action": ?"ping"/, 'an HTTP stream that ended');
  await ann.expect(204, 'DELETE', `${project}/grants/bob`);
  t.equal(await ofGrant.closed, FORBIDDEN, 'a grant that was taken away');
  await admin.expect(200, 'PUT', `/v2/users/${annId}`, { quota: { nodes: 5 } });
  await admin.expect(200, 'PUT', `/v2/users/${annId}`, { password: `${PASSWORD} other` });
  t.equal(await ofPassword.closed, FORBIDDEN, 'another password');
  t.ok(isKept);
});

void t.test('a session that ends takes its streams along', async (t) => {
  const reply = await new Client(server.url).post('/v2/session', { user: 'bob', password: PASSWORD });
  const cookie = reply.headers.get('set-cookie')?.split(';')[0] ?? '';
  const page = { Cookie: cookie, Origin: server.url };
  const { closed } = await opened(t, '/v2/notifications/ws', page);
  await new Client(server.url, page).expect(204, 'DELETE', '/v2/session');
  t.equal(await closed, FORBIDDEN);
});

void t.test('wrong passwords are counted', async (t) => {
  await new Client(server.url, basic('bob', 'wrong')).get('/v2/version');
  t.match((await admin.get('/metrics')).text, /^wirefarm_wrong_passwords_total 1$/m);
});

/** Makes a ticket; returns its URL. */
async function ticket(maker: Client, path: string): Promise<string> {
  return String((await maker.expect(201, 'POST', '/v2/tickets', { path }))['url']);
}

const secretOf = (url: string): string => new URL(url).searchParams.get('ticket') ?? '';
const lines = (): string => {
  const folder = join(server.data, 'audit');
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
};

void t.test('a ticket opens one capture once, as its maker', async (t) => {
  const lab = await LinkLab.make({ client: admin, url: server.url });
  const { link_id: id } = await lab.link([end(await lab.hub(), 0), end(await lab.hub(), 0)]);
  const link = String(id);
  const own = lab.path;
  await admin.expect(200, 'PUT', `${own}/grants/cat`, { grant: 'use' });
  await cat.expect(201, 'POST', `${own}/links/${link}/start_capture`, {});
  const path = `${own}/links/${link}/capture/file`;
  const url = await ticket(cat, path);
  t.match(url, /^http:.*\?ticket=[\w-]{43}$/);

  const first = await fetch(url);
  t.equal(first.status, 200);
  t.equal((await first.arrayBuffer()).byteLength >= 24, true, 'the head of a capture');
  const again = await fetch(url);
  t.equal(again.status, 401);
  t.match(await again.json(), { code: 'ticket_refused' });
  t.equal(again.headers.get('www-authenticate'), null);
  const used = await eventually('a line about the ticket', () =>
    lines()
      .split('\n')
      .filter((text) => text.includes('"kind":"ticket"'))
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .at(0),
  );
  t.match(used, { user: 'cat', address: '127.0.0.1', ids: { project_id: lab.id, link_id: link } });

  const elsewhere = await ticket(cat, path);
  const { searchParams } = new URL(elsewhere);
  for (const other of [own, `${own}/captures`])
    t.equal((await fetch(`${server.url}${other}?${String(searchParams)}`)).status, 401, 'another path');
  t.equal((await fetch(elsewhere)).status, 401, 'and it is gone');
  const post = await ticket(cat, path);
  t.equal((await fetch(post, { method: 'POST', body: '{}' })).status, 401, 'nothing is changed by one');

  const stream = await ticket(cat, `${own}/pcap?links=${link}`);
  t.match(stream, /pcap\?links=[\w-]+&ticket=/);
  const streaming = await fetch(stream);
  t.equal(streaming.status, 200);
  const socketUrl = await ticket(cat, `${own}/links/${link}/pcap/ws`);
  t.match(socketUrl, /^ws:/);
  const socket = new WebSocket(socketUrl);
  t.teardown(() => {
    socket.terminate();
  });
  const closed = once(socket, 'close').then(([code]: number[]) => code ?? 0);
  await once(socket, 'open');
  const late = await ticket(cat, path);
  await admin.expect(200, 'PUT', `/v2/users/${catId}`, { password: `${PASSWORD} other` });
  t.equal(await closed, FORBIDDEN, 'a WebSocket ends with the password of its maker');
  await streaming.arrayBuffer().catch(() => undefined);
  t.equal((await fetch(late)).status, 401, 'and so do tickets that wait');
  for (const secret of [url, elsewhere, post, stream, socketUrl, late].map(secretOf)) {
    t.notOk(server.log().includes(secret), 'the log has no ticket');
    t.notOk(lines().includes(secret), 'nor has the audit');
  }
});

void t.test('tickets are for what their makers may use, and for captures and consoles', async (t) => {
  const bob = signedIn(server, 'bob');
  const file = `${project}/links/${PROJECT}/capture/file`;
  t.match(await bob.post('/v2/tickets', { path: file }), { status: 404, body: { code: 'project_unknown' } });
  await admin.expect(200, 'PUT', `${project}/grants/bob`, { grant: 'view' });
  t.match(await bob.post('/v2/tickets', { path: file }), { status: 403, body: { code: 'grant_missing' } });
  for (const path of [project, '/v2/users', `${file}?ticket=x`, '/nowhere', `/v2/compute${file.slice(3)}`])
    t.match(await admin.post('/v2/tickets', { path }), { status: 400, body: { code: 'ticket_path' } }, path);
  t.equal((await new Client(server.url).post('/v2/tickets', { path: file })).status, 401);
  const { node_id: node } = await admin.expect(201, 'POST', `${project}/nodes`, {
    ...{ name: 'PC', node_type: 'vpcs', compute_id: 'local' },
  });
  const console = await ticket(admin, `${project}/nodes/${String(node)}/console/ws`);
  t.equal(await refusalOf(console), 409, 'the node does not run');
});

/** The status with which a WebSocket is refused; 101 for one that opens. */
function refusalOf(url: string): Promise<number> {
  const socket = new WebSocket(url);
  return new Promise((resolve) => {
    socket.once('unexpected-response', (_request, { statusCode }: { statusCode: number }) => {
      resolve(statusCode);
    });
    socket.once('open', () => {
      socket.terminate();
      resolve(101);
    });
  });
}

void t.test('a ticket opens the console of a node that runs once', { skip: missingVpcs() }, async (t) => {
  await admin.expect(200, 'PUT', `${project}/grants/cat`, { grant: 'use' });
  const owner = signedIn(server, 'cat', `${PASSWORD} other`);
  const { node_id: id } = await admin.expect(201, 'POST', `${project}/nodes`, {
    ...{ name: 'PC2', node_type: 'vpcs', compute_id: 'local' },
  });
  const node = `${project}/nodes/${String(id)}`;
  await owner.expect(200, 'POST', `${node}/start`);
  const url = await ticket(owner, `${node}/console/ws`);
  t.match(url, /^ws:.*\/console\/ws\?ticket=[\w-]{43}$/);
  const socket = new WebSocket(url);
  t.teardown(() => {
    socket.terminate();
  });
  let text = '';
  socket.on('message', (bytes: Buffer) => {
    text += bytes.toString();
  });
  await once(socket, 'open');
  t.equal(await refusalOf(url), 401, 'not twice, also while it is open');
  await eventually('the prompt', () => text.includes('VPCS> ') || undefined);
  socket.send('echo by a ticket\r');
  await eventually('the answer', () => text.includes('\nby a ticket') || undefined);
  const closed = once(socket, 'close').then(([code]: number[]) => code ?? 0);
  const late = await ticket(owner, `${node}/console/ws`);
  await admin.expect(204, 'DELETE', `${project}/grants/cat`);
  t.equal(await closed, FORBIDDEN, 'it ends with the grant of its maker');
  t.not(await refusalOf(late), 101, 'and a ticket that waits opens nothing');
  await admin.expect(200, 'POST', `${node}/stop`);
});

void t.test('tickets are bounded by maker, and live half a minute', (t) => {
  let time = 0;
  const tickets = new Tickets(() => time);
  const ann = { ...ANYONE, userId: 'ann' };
  const made = Array.from({ length: 100 }, () => tickets.issue(ann, '/a').secret);
  t.throws(() => tickets.issue(ann, '/a'), { code: 'too_many_tickets' });
  t.ok(tickets.issue({ ...ANYONE, userId: 'bob' }, '/a'));
  t.equal(tickets.use(made[0] ?? '', '/a').maker, ann);
  t.ok(tickets.issue(ann, '/a'), 'there is room for another');
  time = 30_000;
  t.throws(() => tickets.use(made[1] ?? '', '/a'), { code: 'ticket_refused' });
  for (let count = 0; count < 100; count++) tickets.issue(ann, '/a');
  t.end();
});
