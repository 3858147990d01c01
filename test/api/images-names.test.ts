/** Names of images that mean harm: whatever is sent, nothing outside the folder is read, written or told. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Random, testSeed } from '../support/random.js';
import { jsonOf, rawRequest, type RawReply } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const folder = join(server.data, 'images');
const SECRET = 'nobody should see this';
const BASES = ['/v2/compute/qemu/images', '/v2/computes/local/qemu/images'];

for (const name of ['QEMU', 'QEMU_evil', 'IOU']) mkdirSync(join(folder, name), { recursive: true });
for (const path of ['QEMU_evil/x', 'secret', 'IOU/x']) writeFileSync(join(folder, path), SECRET);
writeFileSync(join(server.data, 'secret'), SECRET);
symlinkSync(server.data, join(folder, 'QEMU/link'));
symlinkSync('..', join(folder, 'QEMU/up'));

/** Everything that lies where no upload of an image for qemu may get to, and what is in it. */
function surroundings(): string[] {
  const theirs = ['images/QEMU/', 'images/tmp/', 'history/', 'state/'].map((path) => join(server.data, path));
  return readdirSync(server.data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !theirs.some((folder) => path.startsWith(folder)))
    .map((path) => `${path} ${createHash('md5').update(readFileSync(path)).digest('hex')}`)
    .sort();
}

const send = (method: string, base: string, name: string): Promise<RawReply> =>
  rawRequest(server.port, method, `${base}/${name}`, method === 'POST' ? { body: 'planted content' } : {});

/** As they stand in the request line. */
const LEAVING = [
  '../x',
  '../../secret',
  '../QEMU_evil/x',
  '../QEMU_evil/new',
  '../IOU/x',
  '..%2fIOU%2fx',
  '..%2f..%2fsecret',
  '%2e%2e/%2e%2e/secret',
  '%2E%2E%2F%2E%2E%2Fsecret',
  '%2e%2e%5c..%5csecret',
  '..%5c..%5csecret',
  '..\\..\\secret',
  'a/../../../secret',
  'a/..%2f..%2f..%2fsecret',
  './../x',
  '..',
  '%2e%2e',
  '%2fetc%2fpasswd',
  '/etc/passwd',
  '//etc/passwd',
  '%5c%5chost%5cshare',
  'C:%5cx',
  'x%00',
  'x%00.img',
  '%00',
  '..%00/x',
  // Encoded once more than the server decodes.
  '%252e%252e%252fsecret',
  '..%252f..%252fsecret',
  '%252fetc%252fpasswd',
  '..%255csecret',
  'x%2500.img',
  '%25252e%25252e%25252fsecret',
  `%25${'25'.repeat(50)}2e`,
];

const REFUSED = [
  '.',
  '%2e',
  './',
  'a/..',
  '.hidden',
  'a/.hidden/x',
  '%2ehidden',
  '...',
  'x.img.md5sum',
  'a.md5sum/x',
  'x.img.tmp',
  'n'.repeat(256),
  '%c3%a4'.repeat(128),
  'n/'.repeat(600) + 'n',
  'a/b/c/d/e/f/g/h/i/j',
  // No UTF-8 at all.
  '%c0%ae%c0%ae%c0%afsecret',
  '%ff',
  '%',
  '%zz',
];

/** Not names of what is there, but of something else: through a link that was planted. */
const LINKED = ['link/secret', 'link/new', 'link', 'up/secret/x', 'link/../../../secret'];

void t.test('names that would leave the folder of the images', async (t) => {
  const before = surroundings();
  t.equal(before.length, 4);
  for (const base of BASES) {
    for (const name of LEAVING) {
      for (const method of ['POST', 'GET', 'HEAD', 'DELETE']) {
        const reply = await send(method, base, name);
        // Some of them end the path earlier than a name begins.
        t.ok([403, 404, 405].includes(reply.status), `${method} ${name}: ${reply.status}`);
        t.notOk(reply.text.includes(SECRET) || reply.text.includes(server.data), name);
        if (method === 'POST' && reply.status === 403)
          t.match(jsonOf(reply), {
            status: 403,
            message: /^Could not write image: .*would leave the images folder$/s,
          });
      }
    }
  }
  t.same(surroundings(), before);
});

void t.test('names that cannot be those of images', async (t) => {
  const before = surroundings();
  for (const base of BASES) {
    for (const name of REFUSED) {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const reply = await send(method, base, name);
        t.equal(reply.status, 400, `${method} ${name.slice(0, 50)}`);
        t.match(jsonOf(reply), { status: 400, message: String, path: String, method });
        t.ok(reply.text.length < 8192);
      }
    }
    t.ok((await send('POST', base, '')).status >= 400);
  }
  t.same(surroundings(), before);
  t.same(readdirSync(join(folder, 'QEMU')).sort(), ['link', 'up']);
});

void t.test('names that lead through planted links', async (t) => {
  const before = surroundings();
  for (const base of BASES) {
    for (const name of LINKED) {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const reply = await send(method, base, name);
        t.ok([403, 404, 409].includes(reply.status), `${method} ${name}: ${reply.status}`);
        t.notOk(reply.text.includes(SECRET) || reply.text.includes(server.data), name);
      }
    }
  }
  t.same(surroundings(), before);
  t.ok(existsSync(join(folder, 'QEMU/link')));
});

void t.test('an emulator of one image is not that of another', async (t) => {
  t.equal((await send('GET', BASES[0] ?? '', 'x')).status, 409, 'x is an image of another one');
  t.equal((await rawRequest(server.port, 'POST', '/v2/compute/QEMU/images/x', { body: 'x' })).status, 404);
  t.equal(
    (await rawRequest(server.port, 'POST', '/v2/computes/local/..%2fqemu/images/x', { body: 'x' })).status,
    404,
  );
  t.equal(
    (await rawRequest(server.port, 'POST', '/v2/computes/local/QEMU_evil/images/x', { body: 'x' })).status,
    404,
  );
});

void t.test('a thousand names put together at random', async (t) => {
  const random = new Random(testSeed(20_261));
  const PIECES = [
    '..',
    '.',
    '/',
    '\\',
    '%2e',
    '%2f',
    '%5c',
    '%00',
    '%25',
    '%252e',
    '%252f',
    'a',
    'QEMU',
    'link',
    'up',
    '%',
    ':',
    '~',
    '%20',
  ];
  const before = surroundings();
  for (let round = 0; round < 1000; round++) {
    const name = Array.from({ length: 1 + random.below(8) }, () => random.pick(PIECES)).join('');
    const reply = await send('POST', BASES[0] ?? '', name);
    t.ok([204, 400, 403, 404, 405, 409].includes(reply.status), `${name}: ${reply.status} ${reply.text}`);
  }
  t.same(surroundings(), before);
  t.equal(server.log(), '');
});
