/** Accounts: who gets in, with which credentials, and what the roles and tokens may do. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { addUser, basic, firstAdmin, PASSWORD, signedIn } from '../support/accounts.js';
import { Client, type Reply } from '../support/client.js';
import { rawRequest, jsonOf } from '../support/raw-client.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { upgrade } from '../support/upgrade.js';

const refused = (status: number, code: string): object => ({ status, body: { status, code } });

async function tokenOf(client: Client, wish: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
  return client.expect(201, 'POST', '/v2/tokens', { name: 'for a test', ...wish });
}

const bearing = ({ url }: ServerProcess, token: unknown): Client =>
  new Client(url, { Authorization: `Bearer ${String(token)}` });

const server = await startServer(t);
const rootAdmin = await firstAdmin(server);

const status = async (asked: Promise<Reply>): Promise<number> => (await asked).status;

void t.test('a server without users serves everybody, until its first user is an admin', async (t) => {
  const forOthers = ['--host', '0.0.0.0'];
  await t.rejects(startServer(t, { flags: forOthers }), /it has no users: make an admin/);
  const server = await startServer(t);
  const nobody = new Client(server.url);
  t.match(await nobody.get('/v2/account'), {
    status: 200,
    body: { name: 'everybody', user_id: null, token_id: null },
  });
  for (const user of [
    { name: 'ann', role: 'auditor', password: PASSWORD },
    { name: 'ann', role: 'admin' },
  ])
    t.match(await nobody.post('/v2/users', user), refused(409, 'first_user_no_admin'));
  t.match(await nobody.post('/v2/tokens', { name: 'x' }), refused(409, 'account_needed'));
  const admin = await firstAdmin(server);
  t.match(await nobody.get('/v2/projects'), refused(401, 'unauthorized'));
  t.equal(await upgrade(`${server.url}/v2/notifications/ws`, {}), 401);
  t.equal(await upgrade(`${server.url}/v2/notifications/ws`, basic('root')), 101);
  t.match(await admin.get('/v2/account'), { status: 200, body: { name: 'root' } });

  await server.stop();
  const again = await startServer(t, { data: server.data, flags: forOthers });
  const nobodyAgain = new Client(`http://127.0.0.1:${again.port}`);
  t.equal(await status(nobodyAgain.get('/v2/projects')), 401, 'the user is stored');
  t.equal(await status(signedIn(again, 'root').get('/v2/projects')), 200);
  t.notMatch(again.log(), /no password/);
});

void t.test('the accounts of a server', async (t) => {
  const server = await startServer(t, {
    environment: { WIREFARM_PASSWORD: 'built in' },
    flags: ['--user', 'boss'],
  });
  const boss = signedIn(server, 'boss', 'built in');
  const root = await addUser(boss, server, 'root', 'admin');
  const admin = root.client;

  await t.test('are shown without their passwords', async (t) => {
    const made = await boss.post('/v2/users', { name: 'Zoë B.', role: 'operator', password: PASSWORD });
    t.equal(made.status, 201);
    t.match(made.body, { name: 'Zoë B.', role: 'operator', has_password: true });
    const listed = await admin.get('/v2/users');
    t.strictSame(
      (listed.body as { name: string }[]).map(({ name }) => name),
      ['Zoë B.', 'root'],
    );
    for (const { text } of [made, listed]) t.notMatch(text, /scrypt|correct horse/);
    t.equal(await status(signedIn(server, 'zoë b.').get('/v2/version')), 200, 'a name in any case');
  });

  await t.test('have names that no other has, and that Basic can carry', async (t) => {
    t.match(await admin.post('/v2/users', { name: 'ROOT', role: 'auditor' }), refused(409, 'user_exists'));
    for (const name of ['', 'a:b', 'token', 'Token', 'a\u0000b', 'x'.repeat(65), ' a', 'a\nb'])
      t.match(
        await admin.post('/v2/users', { name, role: 'auditor' }),
        refused(400, 'schema_violated'),
        name,
      );
    for (const password of ['short', 'x'.repeat(1025)])
      t.equal(await status(admin.post('/v2/users', { name: 'b', role: 'auditor', password })), 400);
  });

  await t.test('sign in anew when they are changed, and not at all when they are gone', async (t) => {
    const { id, client } = await addUser(admin, server, 'changed', 'operator');
    const token = await tokenOf(client);
    t.equal(await status(client.get('/v2/projects')), 200);
    await client.expect(200, 'PUT', '/v2/account', { password: 'another horse' });
    t.equal(await status(client.get('/v2/projects')), 401, 'the old password, which was remembered');
    const anew = signedIn(server, 'changed', 'another horse');
    t.equal(await status(anew.get('/v2/projects')), 200);
    t.equal(await status(bearing(server, token['token']).get('/v2/projects')), 200, 'the token goes on');
    await admin.expect(200, 'PUT', `/v2/users/${id}`, { role: 'auditor' });
    t.match(await anew.post('/v2/reload'), refused(403, 'right_missing'));
    t.match(await bearing(server, token['token']).post('/v2/reload'), refused(403, 'right_missing'));
    await admin.expect(204, 'DELETE', `/v2/users/${id}`);
    t.equal(await status(anew.get('/v2/projects')), 401);
    t.equal(await status(bearing(server, token['token']).get('/v2/projects')), 401);
    t.match(await admin.get(`/v2/users/${id}`), refused(404, 'user_unknown'));
  });

  await t.test('have the rights of their roles', async (t) => {
    const roles = new Map<string, Client>([['admin', admin]]);
    for (const role of ['operator', 'auditor']) {
      roles.set(role, (await addUser(admin, server, `the ${role}`, role)).client);
    }
    const attempts: readonly (readonly [method: string, path: string, allowed: readonly string[]])[] = [
      ['GET', '/v2/projects', ['admin', 'operator', 'auditor']],
      ['GET', '/v2/compute/projects', ['admin', 'operator']],
      ['POST', '/v2/reload', ['admin', 'operator']],
      ['GET', '/v2/users', ['admin', 'auditor']],
      ['DELETE', '/v2/users/x', ['admin']],
      ['POST', '/v2/templates/x/duplicate', ['admin', 'operator']],
      ['DELETE', '/v2/compute/qemu/images/x', ['admin', 'operator']],
    ];
    for (const [method, path, allowed] of attempts)
      for (const [role, client] of roles) {
        const reply = await client.request(method, path);
        const isRefused = reply.status === 403;
        t.equal(isRefused, !allowed.includes(role), `${role} ${method} ${path}: ${reply.status}`);
      }
  });

  await t.test('get in by a token in each way that clients know', async (t) => {
    const made = await tokenOf(admin, { rights: ['projects:read'] });
    const token = String(made['token']);
    t.match(token, /^wf_[0-9a-f]{8}_[\w-]{43}$/);
    t.ok(token.includes(String(made['token_id'])));
    const ways = [
      { Authorization: `Bearer ${token}` },
      basic('token', token),
      basic('root', token),
      basic('ROOT', token),
    ];
    for (const way of ways) {
      const client = new Client(server.url, way);
      t.equal(await status(client.get('/v2/projects')), 200, way.Authorization);
      t.match(await client.post('/v2/reload'), refused(403, 'right_missing'));
      t.match(await client.post('/v2/tokens', { name: 'x' }), refused(403, 'password_needed'));
      t.match(await client.put('/v2/account', { password: PASSWORD }), refused(403, 'password_needed'));
      t.match(await client.get('/v2/account'), { body: { rights: ['projects:read'] } });
      t.equal(await upgrade(`${server.url}/v2/notifications/ws`, way), 101);
      t.equal(await upgrade(`${server.url}/v2/compute/notifications/ws`, way), 403);
    }
    const listed = await admin.get('/v2/tokens');
    t.notMatch(listed.text, token.slice(12), 'it is shown once');
    const [shown] = (listed.body as Record<string, unknown>[]).filter(
      ({ token_id: id }) => id === made['token_id'],
    );
    t.type(shown?.['last_used_at'], 'string');
    await admin.expect(204, 'DELETE', `/v2/tokens/${String(made['token_id'])}`);
    for (const way of ways) t.equal(await status(new Client(server.url, way).get('/v2/projects')), 401);
  });

  await t.test('see and delete their own tokens, and no others', async (t) => {
    const { client } = await addUser(admin, server, 'own', 'operator');
    const own = await tokenOf(client);
    const foreign = await tokenOf(admin);
    const listed = (await client.get('/v2/tokens')).body as { token_id: string }[];
    t.strictSame(
      listed.map(({ token_id: id }) => id),
      [own['token_id']],
    );
    t.match(await client.delete(`/v2/tokens/${String(foreign['token_id'])}`), refused(404, 'token_unknown'));
    await client.expect(204, 'DELETE', `/v2/tokens/${String(own['token_id'])}`);
    await admin.expect(204, 'DELETE', `/v2/tokens/${String(foreign['token_id'])}`);
  });

  await t.test('keep an admin who can sign in', async (t) => {
    await boss.expect(200, 'PUT', `/v2/users/${root.id}`, { role: 'auditor' });
    await boss.expect(200, 'PUT', `/v2/users/${root.id}`, { role: 'admin' });
    await server.stop();
    const again = await startServer(t, { data: server.data });
    const alone = signedIn(again, 'root');
    for (const change of [{ role: 'operator' }, { password: null }])
      t.match(await alone.put(`/v2/users/${root.id}`, change), refused(409, 'last_admin'));
    t.match(await alone.delete(`/v2/users/${root.id}`), refused(409, 'last_admin'));
  });
});

void t.test('the body of a request waits while its password is checked', async (t) => {
  const image = Buffer.alloc(3_000_000, 'x');
  const ask = async (name: string, password: string): Promise<number> =>
    status(signedIn(server, name, password).post('/v2/compute/qemu/images/large.img', image));
  t.equal(await ask('root', 'wrong password'), 401);
  t.equal(await ask('root', PASSWORD), 204);
  t.equal(statSync(join(server.data, 'images', 'QEMU', 'large.img')).size, image.length);
  const anew = new Client(server.url, { Authorization: basic('ROOT').Authorization });
  t.equal(await status(anew.post('/v2/projects', { name: 'made by a body that waited' })), 201);
});

void t.test('credentials that are none are all refused in the same words', async (t) => {
  const past = { expires_at: '2020-01-01T00:00:00.000Z' };
  t.match(await rootAdmin.post('/v2/tokens', { name: 'old', ...past }), refused(400, 'token_expiry_past'));
  const good = String((await tokenOf(rootAdmin))['token']);
  const encoded = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
  const wrong = [
    encoded('root:wrong password'),
    encoded('nobody:wrong password'),
    encoded(`root\u0000:${PASSWORD}`),
    encoded(`r\u00f6\u{1f600}t:${PASSWORD}`),
    encoded(`nobody:${good}`),
    encoded(`token:${good.slice(0, -1)}`),
    `Bearer ${good}x`,
    `Bearer wf_00000000_${'a'.repeat(43)}`,
    `Basic ${'A'.repeat(8000)}`,
    'Basic !!!!',
  ];
  const known = {
    code: 'unauthorized',
    message: 'This server needs a user name and a password',
    status: 401,
  };
  for (const authorization of wrong) {
    const reply = await rawRequest(server.port, 'GET', '/v2/projects', {
      headers: { Authorization: authorization },
    });
    t.strictSame(jsonOf(reply), known, authorization.slice(0, 60));
  }
});
