/** Two servers of one farm: what is changed on the one counts on the other at once. */
import t from 'tap';
import { addUser, PASSWORD, signedIn } from '../support/accounts.js';
import { Client } from '../support/client.js';
import { EtcdCluster, missingEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { startServer } from '../support/server-process.js';

void t.test('servers of a farm', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const flags = ['--farm', etcd.address('accounts'), '--advertise', 'http://127.0.0.1:0'];
  const owner = await startServer(t, { flags });
  const root = { name: 'root', role: 'admin', password: PASSWORD };
  await eventually('the first server has what belongs to all', async () => {
    const made = await new Client(owner.url).request('POST', '/v2/users', root);
    return made.status === 201 || undefined;
  });
  const other = await startServer(t, { flags });
  const admin = signedIn(owner, 'root');
  const get = (headers: Record<string, string>) => new Client(other.url, headers).get('/v2/account');

  await t.test('let users in who were made on another one, and with their new passwords', async (t) => {
    await addUser(admin, owner, 'ann', 'operator');
    t.match(await signedIn(other, 'ann').get('/v2/account'), { status: 200, body: { name: 'ann' } });
    const [ann] = ((await admin.get('/v2/users')).body as { user_id: string; name: string }[]).filter(
      ({ name }) => name === 'ann',
    );
    await admin.expect(200, 'PUT', `/v2/users/${ann?.user_id}`, { password: 'another horse' });
    await eventually('the former one does not count', async () => {
      const { status } = await signedIn(other, 'ann').get('/v2/account');
      return status === 401 || undefined;
    });
    t.equal((await signedIn(other, 'ann', 'another horse').get('/v2/account')).status, 200);
  });

  await t.test('take tokens of each other until they are revoked', async (t) => {
    const made = await admin.expect(201, 'POST', '/v2/tokens', { name: 'for a test' });
    const bearer = { Authorization: `Bearer ${String(made['token'])}` };
    t.equal((await get(bearer)).status, 200);
    await admin.expect(204, 'DELETE', `/v2/tokens/${String(made['token_id'])}`);
    await eventually('it is refused', async () => (await get(bearer)).status === 401 || undefined);
  });

  await t.test('know the sessions of each other', async (t) => {
    const begun = await new Client(owner.url).post('/v2/session', { user: 'root', password: PASSWORD });
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? '';
    t.match(await get({ Cookie: cookie }), { status: 200, body: { name: 'root' } });
    await new Client(owner.url, { Cookie: cookie, Origin: owner.url }).expect(204, 'DELETE', '/v2/session');
    await eventually('it has ended', async () => (await get({ Cookie: cookie })).status === 401 || undefined);
  });

  const listed = async () => {
    const { headers, body } = await signedIn(other, 'root').get('/v2/templates');
    const names = (body as { name: string }[]).map(({ name }) => name);
    return { names, stale: headers.get('wirefarm-stale') };
  };

  await t.test('list what was made before, or tell how old the list is', async (t) => {
    const template = { name: 'T', template_type: 'ethernet_switch', compute_id: 'local' };
    for (const name of ['T', 'U', 'V']) {
      await admin.expect(201, 'POST', '/v2/templates', { ...template, name });
      const { names, stale } = await listed();
      t.ok(names.includes(name), `${name} at once`);
      t.equal(stale, null);
    }
    await etcd.kill(0);
    const { names, stale } = await listed();
    t.ok(names.includes('V'));
    t.match(stale, /^\d+$/);
    etcd.begin(0);
    await etcd.healthy();
    await eventually('it is up to date', async () => (await listed()).stale === null || undefined);
  });
});
