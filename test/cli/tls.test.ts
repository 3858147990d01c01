/** Certificates that `wirefarm` makes, as Node.js and openssl read them. */
import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { Server, Unreachable } from '../../src/cli/server.js';
import { serverAddress } from '../../src/cli/server-address.js';
import { selfSigned } from '../../src/cli/self-signed.js';
import { cli } from '../support/cli.js';
import { scratchFolder } from '../support/scratch.js';

void t.test('a certificate is for its names, signed by its key, and openssl finds no fault', async (t) => {
  const folder = join(scratchFolder(t), 'made');
  const names = ['labs.example.org', '*.labs.example.org', '192.0.2.7', '2001:db8::7'];
  const args = ['tls', 'self-signed', ...names.flatMap((name) => ['--host', name]), '--out', folder];
  t.match(await cli(t, args), { code: 0, output: /cert\.pem and .*key\.pem/, errors: '' });
  const certificate = new X509Certificate(readFileSync(join(folder, 'cert.pem')));
  const key = createPrivateKey(readFileSync(join(folder, 'key.pem')));
  t.equal(statSync(join(folder, 'key.pem')).mode & 0o777, 0o600);
  t.ok(certificate.checkPrivateKey(key));
  t.ok(certificate.verify(certificate.publicKey));
  t.equal(certificate.subject, 'CN=labs.example.org');
  for (const name of ['labs.example.org', 'a.labs.example.org']) t.ok(certificate.checkHost(name), name);
  for (const address of ['192.0.2.7', '2001:db8::7']) t.ok(certificate.checkIP(address), address);
  t.equal(certificate.checkHost('evil.example.org'), undefined);
  const path = join(folder, 'cert.pem');
  const verified = execFileSync('openssl', [
    'verify',
    '-x509_strict',
    '-partial_chain',
    '-CAfile',
    path,
    path,
  ]);
  t.match(verified.toString(), /: OK/);

  const again = await cli(t, args);
  t.match(again, { code: 1, errors: /cannot write to .*EEXIST/ }, 'nothing is replaced');
  t.ok(certificate.checkPrivateKey(createPrivateKey(readFileSync(join(folder, 'key.pem')))));
});

void t.test('a certificate ends after 825 days, also beyond 2050', (t) => {
  for (const now of ['2026-01-02T03:04:05Z', '2049-06-01T00:00:00Z', '2055-01-01T00:00:00Z']) {
    const { validFrom, validTo } = new X509Certificate(selfSigned(['a'], new Date(now)).certificate);
    t.equal(Date.parse(validTo) - Date.parse(validFrom), 826 * 24 * 3600 * 1000, now);
    t.equal(Date.parse(now) - Date.parse(validFrom), 24 * 3600 * 1000, now);
  }
  t.end();
});

void t.test('a wrong command line is told', async (t) => {
  for (const args of [
    [],
    ['x'],
    ['self-signed'],
    ['self-signed', '--host', 'a b', '--out', '/tmp'],
    ['self-signed', '--host', 'a', '--out', '/tmp', '--nonsense'],
  ])
    t.match(await cli(t, ['tls', ...args]), { code: 2, errors: /^wirefarm: .*\n$/ }, args.join(' '));
});

void t.test('a server over TLS is trusted when its certificate is named', async (t) => {
  const folder = scratchFolder(t);
  await cli(t, ['tls', 'self-signed', '--host', '127.0.0.1', '--out', folder]);
  const cert = join(folder, 'cert.pem');
  const pair = { cert: readFileSync(cert), key: readFileSync(join(folder, 'key.pem')) };
  const https = createServer(pair, (_request, response) => response.end('[{"a": 1}]'));
  https.listen(0, '127.0.0.1');
  await once(https, 'listening');
  t.teardown(() => {
    https.closeAllConnections();
    https.close();
  });
  const url = `https://127.0.0.1:${(https.address() as AddressInfo).port}`;
  const list = (ca?: string, environment = {}): Promise<unknown> =>
    new Server(serverAddress(url, environment, ca)).list('/');
  t.same(await list(cert), [{ a: 1 }]);
  t.same(await list(undefined, { WIREFARM_CA: cert }), [{ a: 1 }]);
  await t.rejects(list(), Unreachable);
  t.throws(() => serverAddress(url, {}, join(folder, 'nowhere.pem')), /--ca cannot be read \(ENOENT/);
});
