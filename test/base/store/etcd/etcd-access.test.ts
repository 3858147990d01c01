/** An etcd that speaks TLS, knows its clients by certificates, and has users: who is let in, and what the others are told. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { etcdAddress } from '../../../../src/base/store/etcd/etcd-address.js';
import { EtcdStore } from '../../../../src/base/store/etcd/etcd-store.js';
import { withAccess, type EtcdFilePaths } from '../../../../src/server/etcd-files.js';
import { serving } from '../../../support/cli.js';
import { etcdCertificates } from '../../../support/etcd-certificates.js';
import { EtcdCluster, missingEtcd } from '../../../support/etcd.js';
import { eventually } from '../../../support/eventually.js';
import { scratchFolder } from '../../../support/scratch.js';

const PASSWORD = 'a password with ü and "';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

void t.test('etcd with TLS and users', { skip: missingEtcd() }, async (t) => {
  const folder = scratchFolder(t);
  const files = etcdCertificates(folder);
  mkdirSync(join(folder, 'other'));
  const others = etcdCertificates(join(folder, 'other'));
  const flags = { 'auth-token-ttl': '1' };
  const etcd = await EtcdCluster.start(t, [join(folder, 'etcd')], { tls: files, flags });
  const passwordFile = join(folder, 'password');
  const setPassword = (password: string): void => {
    writeFileSync(passwordFile, `${password}\n`);
  };
  setPassword(PASSWORD);

  const login = { user: 'wirefarm', passwordFile };
  const usual: EtcdFilePaths = { authority: files.authority, ...files.client, login };
  const stores: EtcdStore[] = [];
  t.teardown(() => Promise.all(stores.map((store) => store.close())));
  const opened = async (access: EtcdFilePaths, prefix = 'farm', address = etcd.address(prefix)) => {
    const parsed = etcdAddress(address);
    if (parsed === undefined) throw new Error(`this is no address: ${address}`);
    const store = new EtcdStore({ ...(await withAccess(parsed, access)), server: `s${stores.length}` });
    stores.push(store);
    return store;
  };
  const refused = async (access: EtcdFilePaths, message: RegExp, prefix?: string, address?: string) => {
    const store = await opened(access, prefix, address);
    await t.rejects(store.load(['a']), { status: 503, code: 'store_forbidden', message }, String(message));
  };

  const none = { authority: undefined, certificate: undefined, key: undefined, login: undefined };
  const trusting = { ...none, authority: files.authority };
  const before = await opened(usual);
  await before.commit([{ put: ['a'], value: 1 }]);
  t.same(await before.load(['a']), [{ key: ['a'], value: 1 }], 'there are no users yet');
  await refused({ ...trusting, authority: others.authority }, /not of the authority .*--farm-ca/);
  await refused(trusting, /wants a certificate of this server .*--farm-cert/);
  await refused({ ...trusting, ...others.client }, /wants a certificate of this server that it knows/);
  const plain = await serving(t, (_request, response) => response.end());
  await refused(trusting, /does not speak TLS/, 'farm', plain.replace('http:', 'etcds:'));

  for (const name of ['root', 'wirefarm', 'nobody']) {
    await etcd.ask('auth/user/add', { name, password: name === 'root' ? 'root' : PASSWORD });
    await etcd.ask('auth/role/add', { name });
    await etcd.ask('auth/user/grant', { user: name, role: name });
  }
  const perm = { permType: 'READWRITE', key: base64('/farm/'), range_end: base64('/farm0') };
  await etcd.ask('auth/role/grant', { name: 'wirefarm', perm });
  await etcd.ask('auth/enable', {});

  t.same(await before.load(['a']), [{ key: ['a'], value: 1 }], 'a server that runs gets a token now');
  await before.commit([{ put: ['a'], value: 2 }]);
  await refused({ ...usual, ...files.server }, /only certificates without a common name/);
  await refused({ ...usual, login: undefined }, /has users, and wants one of them .*--farm-user/);
  await refused({ ...usual, login: { ...login, user: 'nobody' } }, /may not read and write all keys/);
  await refused(usual, /may not read and write all keys/, 'elsewhere');
  await refused(
    { ...usual, login: { ...login, user: 'unknown' } },
    /does not know the user with this password/,
  );
  setPassword('wrong');
  await refused(usual, /does not know the user with this password .*--farm-password-file/);
  setPassword(PASSWORD);

  const { position } = await before.read(['n']);
  const seen: number[] = [];
  before.follow([['n']], position, {
    committed: (changes) => {
      for (const change of changes) if ('put' in change) seen.push(change.value as number);
    },
    gone: () => t.fail('it is kept'),
  });
  const { token } = (await etcd.ask('auth/authenticate', { name: 'wirefarm', password: PASSWORD })) as {
    token: string;
  };
  // It ends like those of the stores do, a second after it was used last.
  await eventually('a token has ended', async () => {
    await new Promise((resolve) => setTimeout(resolve, 2500));
    const { code } = (await etcd.ask('kv/range', { key: base64('/farm/a') }, token)) as { code?: number };
    return code === 16 || undefined;
  });
  await before.commit([{ put: ['n'], value: 1 }]);
  const root = (await etcd.ask('auth/authenticate', { name: 'root', password: 'root' })) as { token: string };
  setPassword('another');
  await etcd.ask('auth/user/changepw', { name: 'wirefarm', password: 'another' }, root.token);
  await before.commit([{ put: ['n'], value: 2 }]);
  const claimed = await before.claim('s');
  t.ok('claim' in claimed);
  await eventually('all was followed', () => seen.length >= 2 || undefined);
  t.same(seen, [1, 2]);
});
