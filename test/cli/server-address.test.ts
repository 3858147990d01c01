/** Where the server is, and who asks. */
import t from 'tap';
import { UsageError } from '../../src/cli/command-error.js';
import { serverAddress } from '../../src/cli/server-address.js';

void t.test('a flag wins over the variable, that over the default', (t) => {
  const there = { WIREFARM_URL: 'https://lab.example:8443' };
  t.equal(serverAddress('http://[::1]:1', there).url.href, 'http://[::1]:1/');
  t.equal(serverAddress(undefined, there).url.href, 'https://lab.example:8443/');
  t.equal(serverAddress(undefined, {}).url.href, 'http://127.0.0.1:3080/');
  t.equal(serverAddress(undefined, { WIREFARM_URL: '' }).url.href, 'http://127.0.0.1:3080/');
  t.end();
});

void t.test('user and password come from the environment', (t) => {
  t.equal(serverAddress(undefined, {}).authorization, undefined);
  const { authorization } = serverAddress(undefined, { WIREFARM_USER: 'ann', WIREFARM_PASSWORD: 'sé:cret' });
  t.equal(authorization, `Basic ${Buffer.from('ann:sé:cret').toString('base64')}`);
  t.equal(serverAddress(undefined, { WIREFARM_USER: 'ann' }).authorization, undefined);
  t.end();
});

void t.test('a text that is no address, or has a password in it, is refused', (t) => {
  for (const given of ['lab', 'lab:3080', 'ftp://lab', 'http://']) {
    t.throws(() => serverAddress(given, {}), new UsageError(`'${given}' is no address of a server: it looks like http://127.0.0.1:3080`)); // oxfmt-ignore
  }
  t.throws(() => serverAddress('http://ann:secret@lab', {}), /WIREFARM_PASSWORD/);
  t.end();
});
