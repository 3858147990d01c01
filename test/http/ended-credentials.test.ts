/** Streams and WebSockets end with the credentials that opened them, and with the right or the grant. */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { addUser, basic, firstAdmin, PASSWORD } from '../support/accounts.js';
import { Client } from '../support/client.js';
import { startServer } from '../support/server-process.js';

const FORBIDDEN = 1008;
type Credentials = Readonly<Record<string, string>>;

const server = await startServer(t);
const admin = await firstAdmin(server);
const { id: annId, client: ann } = await addUser(admin, server, 'ann', 'user');
await addUser(admin, server, 'bob', 'user');
const made = await ann.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
const project = `/v2/projects/${String(made['project_id'])}`;

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
