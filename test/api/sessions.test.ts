/** Sessions of browsers: how they begin, what they may do for which pages, and when they end. */
import t from 'tap';
import { addUser, firstAdmin, PASSWORD, signedIn } from '../support/accounts.js';
import { Client, type Reply } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { upgrade } from '../support/upgrade.js';

const OTHER = 'another horse';

const refused = (status: number, code: string): object => ({ status, body: { status, code } });

function signIn({ url }: ServerProcess, user: string, password = PASSWORD): Promise<Reply> {
  return new Client(url).post('/v2/session', { user, password });
}

const cookieOf = ({ headers }: Reply): string => headers.get('set-cookie')?.split(';')[0] ?? '';

/** The requests of a page of the server itself. */
function page({ url }: ServerProcess, cookie: string): Client {
  return new Client(url, { Cookie: `theme=dark; ${cookie}; lang=en`, Origin: url });
}

const server = await startServer(t);
const admin = await firstAdmin(server);
const { id: userId } = await addUser(admin, server, 'ann', 'operator');

void t.test('a session', async (t) => {
  const reply = await signIn(server, 'ANN');
  t.match(reply, { status: 201, body: { name: 'ann', user_id: userId, token_id: null } });
  const attributes = reply.headers.get('set-cookie')?.split('; ').slice(1);
  t.strictSame(attributes, ['Path=/', 'HttpOnly', 'SameSite=Strict']);
  const own = page(server, cookieOf(reply));

  await t.test('lasts twelve hours from its last use on', async (t) => {
    const shown = await own.expect(200, 'GET', '/v2/session');
    t.match(shown, { name: 'ann', rights: ['projects:read'] });
    const left = Date.parse(String(shown['expires_at'])) - Date.now();
    t.ok(left > 11.9 * 3600 * 1000 && left <= 12 * 3600 * 1000, `${left} ms`);
    t.match(await admin.get('/v2/session'), { body: { name: 'root', expires_at: null } });
  });

  await t.test('reads for every page, and changes for pages of this server only', async (t) => {
    const cookie = cookieOf(reply);
    const elsewhere = [{}, { Origin: 'http://127.0.0.1:4200' }, { Origin: 'http://localhost:3080' }];
    for (const origin of elsewhere) {
      const other = new Client(server.url, { Cookie: cookie, ...origin });
      t.equal((await other.get('/v2/projects')).status, 200);
      t.match(await other.post('/v2/projects', { name: 'x' }), refused(403, 'session_origin'));
      t.match(await other.delete('/v2/session'), refused(403, 'session_origin'));
      const socket = `${server.url}/v2/notifications/ws`;
      t.equal(await upgrade(socket, { Cookie: cookie, ...origin }), 403);
    }
    t.equal(await upgrade(`${server.url}/v2/notifications/ws`, { Cookie: cookie, Origin: server.url }), 101);
    t.equal((await own.post('/v2/projects', { name: 'of a page' })).status, 201);
    t.equal((await own.post('/v2/tokens', { name: 'of a page' })).status, 201);
  });

  await t.test('ends alone when its page signs out', async (t) => {
    const other = page(server, cookieOf(await signIn(server, 'ann')));
    const left = await other.delete('/v2/session');
    t.equal(left.status, 204);
    t.match(left.headers.get('set-cookie'), /^wf_session=; Max-Age=0; Path=\//);
    const again = await other.get('/v2/projects');
    t.match(again, refused(401, 'session_ended'));
    t.match(again.headers.get('set-cookie'), /^wf_session=; Max-Age=0/);
    t.equal(again.headers.get('www-authenticate'), null, 'the browser asks for no password by itself');
    t.equal((await own.get('/v2/session')).status, 200);
    t.match(await admin.delete('/v2/session'), refused(409, 'session_missing'));
    t.equal((await other.get('/livez')).status, 200, 'a path for anyone');
  });

  await t.test('ends at once with the password, the role and the user', async (t) => {
    const { id } = await addUser(admin, server, 'bob', 'operator');
    const begin = async (password: string): Promise<Client> =>
      page(server, cookieOf(await signIn(server, 'bob', password)));
    const changes: readonly (readonly [string, string, object?])[] = [
      [PASSWORD, 'PUT', { password: OTHER }],
      [OTHER, 'PUT', { role: 'auditor' }],
      [OTHER, 'DELETE'],
    ];
    for (const [password, method, change] of changes) {
      const bob = await begin(password);
      t.equal((await bob.get('/v2/session')).status, 200);
      await admin.request(method, `/v2/users/${id}`, change);
      t.match(await bob.get('/v2/session'), refused(401, 'session_ended'), JSON.stringify(change));
    }
  });

  await t.test('begins for a password only, and is told no more than that it was wrong', async (t) => {
    const { token } = await admin.expect(201, 'POST', '/v2/tokens', { name: 'x' });
    t.match(await signIn(server, 'root', String(token)), refused(403, 'password_needed'));
    for (const [user, password] of [
      ['ann', OTHER],
      ['nobody', OTHER],
      ['ann', ''],
    ] as const) {
      const wrong = await signIn(server, user, password);
      t.match(wrong, {
        ...refused(401, 'sign_in_wrong'),
        body: { message: 'The name or the password is wrong' },
      });
      t.equal(wrong.headers.get('www-authenticate'), null);
    }
    t.match(await signIn(server, 'ann:x'), refused(400, 'schema_violated'));
    for (const cookie of ['wf_session=', 'wf_session=x', `wf_session=${'a'.repeat(43)}`, 'xwf_session=a'])
      t.equal((await page(server, cookie).get('/v2/projects')).status, 401, cookie);
    const both = new Client(server.url, { Cookie: 'wf_session=x', Authorization: 'Bearer x' });
    t.match(await both.get('/v2/projects'), refused(401, 'unauthorized'), 'the header counts first');
    t.notMatch(server.log(), OTHER);
  });

  await t.test('goes on after a start of the server, unless its user was changed meanwhile', async (t) => {
    const root = await signIn(server, 'root');
    await server.stop();
    const again = await startServer(t, { data: server.data });
    t.equal((await page(again, cookieOf(reply)).get('/v2/session')).status, 200);
    const next = page(again, cookieOf(root));
    t.equal((await next.post('/v2/projects', { name: 'of root' })).status, 201);
    await again.stop();
  });
});

void t.test('the admin of the settings has sessions that end with the server', async (t) => {
  const boss = await startServer(t, {
    environment: { WIREFARM_PASSWORD: PASSWORD },
    flags: ['--user', 'boss', '--public-url', 'https://labs.example'],
  });
  const reply = await signIn(boss, 'boss');
  t.match(reply, { status: 201, body: { name: 'boss', user_id: null } });
  t.match(reply.headers.get('set-cookie'), /; Secure$/, 'clients know the server by TLS');
  const own = new Client(boss.url, { Cookie: cookieOf(reply), Origin: 'https://labs.example' });
  t.equal((await own.post('/v2/projects', { name: 'x' })).status, 201);
  t.match(await own.post('/v2/tokens', { name: 'x' }), refused(409, 'account_needed'));
  await boss.stop();
});

const guessed = await startServer(t);

void t.test('a server without users has no sessions', async (t) => {
  t.match(await signIn(guessed, 'ann'), refused(409, 'account_needed'));
  const everybody = { body: { name: 'everybody', expires_at: null } };
  t.match(await new Client(guessed.url).get('/v2/session'), everybody);
});

void t.test('wrong passwords of sign-ins are slowed down as those of requests', async (t) => {
  await firstAdmin(guessed);
  const guess = (): Promise<Reply> => signIn(guessed, 'root', 'wrong password');
  t.match(await guess(), refused(401, 'sign_in_wrong'));
  await guessed.logged(/a wrong user name or password/);
  // One guess a second is free, and a loaded machine may check no more passwords than that; tokens are found wrong at once.
  const wrong = new Client(guessed.url, { Authorization: 'Bearer wrong' });
  const guesses: Promise<Reply>[] = [];
  const refusalOf = (ask: () => Promise<Reply>): Promise<Reply> =>
    eventually('requests of the address are refused', async () => {
      guesses.push(...Array.from({ length: 14 }, () => wrong.get('/v2/projects')));
      const reply = await ask();
      return reply.status === 503 ? reply : undefined;
    });
  const closed = refused(503, 'too_many_guesses');
  t.match(await refusalOf(() => signedIn(guessed, 'root').get('/v2/projects')), closed);
  t.match(await refusalOf(guess), closed);
  const statuses = (await Promise.all(guesses)).map(({ status }) => status);
  t.same([...new Set(statuses)].sort(), [401, 503]);
  t.ok(
    statuses.filter((status) => status === 401).length >= 13,
    'the guesses before were answered, though late',
  );
});
