/** Images over HTTP: uploads, lists, downloads and removal. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { Client, type Reply } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { RandomBytes } from '../support/random.js';
import { headerOf, RawConnection, rawRequest } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { image, OFFSET_STREAM, TusTalk } from '../support/tus.js';

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);
const folder = join(server.data, 'images');
const MEGABYTE = 1024 * 1024;
const IOU = Buffer.from('7f454c46010101ffff', 'hex');
const IOS = Buffer.from('7f454c46010201ffff', 'hex');

const md5 = (content: string | Uint8Array): string => createHash('md5').update(content).digest('hex');
const sha256 = (content: string | Uint8Array, form: 'hex' | 'base64' = 'hex'): string =>
  createHash('sha256').update(content).digest(form);

interface Image {
  readonly filename: string;
  readonly filesize: number;
  readonly md5sum: string | null;
  readonly path: string;
}

const pathOf = (name: string, emulator = 'qemu'): string =>
  `/v2/compute/${emulator}/images/${name.split('/').map(encodeURIComponent).join('/')}`;

async function upload(name: string, content: string | Uint8Array, emulator = 'qemu'): Promise<void> {
  await client.expect(204, 'POST', pathOf(name, emulator), content);
}

async function list(emulator = 'qemu'): Promise<Image[]> {
  const images: unknown = await client.expect(200, 'GET', `/v2/compute/${emulator}/images`);
  return images as Image[];
}

/** Waits for the digest. */
function listed(path: string, emulator = 'qemu'): Promise<Image & { md5sum: string }> {
  return eventually(`${path} has a digest`, async () => {
    const found = (await list(emulator)).find((image) => image.path === path);
    return found?.md5sum == null ? undefined : { ...found, md5sum: found.md5sum };
  });
}

/** Puts a file there as another program would. */
function plant(path: string, content: string | Uint8Array): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

const sideOf = (path: string): string | undefined => {
  const side = join(folder, `${path}.md5sum`);
  return existsSync(side) ? readFileSync(side, 'latin1') : undefined;
};

const missing = (name: string): unknown => ({
  code: 'image_missing',
  exception: 'ImageMissingError',
  image: name,
  message: `The image ${name} is missing`,
  status: 409,
});

void t.test('a server without images has none of any emulator, and says so of containers', async (t) => {
  for (const emulator of ['qemu', 'iou', 'dynamips']) {
    t.same(await list(emulator), []);
    const reply = await client.get(pathOf('x.img', emulator));
    t.equal(reply.status, 409);
    t.strictSame(reply.body, missing('x.img'));
    t.strictSame((await client.delete(pathOf('x.img', emulator))).body, missing('x.img'));
  }
  t.match((await client.get('/v2/compute/docker/images')).body, { status: 409, message: /Docker/ });
  t.equal((await client.get('/v2/compute/vpcs/images')).status, 404);
});

void t.test('an image is uploaded, listed, downloaded and deleted', async (t) => {
  const content = new RandomBytes(1).next(3 * MEGABYTE);
  await upload('first.img', content);
  t.ok(readFileSync(join(folder, 'QEMU/first.img')).equals(content));
  t.strictSame(await listed('first.img'), {
    filename: 'first.img',
    filesize: content.length,
    md5sum: md5(content),
    path: 'first.img',
  });
  await eventually('it is told beside the image', () => sideOf('QEMU/first.img'));
  t.equal(sideOf('QEMU/first.img'), md5(content));

  const whole = await rawRequest(server.port, 'GET', pathOf('first.img'));
  t.equal(whole.status, 200);
  t.ok(whole.body.equals(content));
  t.equal(headerOf(whole, 'Repr-Digest'), `sha-256=:${sha256(content, 'base64')}:`);
  const tag = headerOf(whole, 'ETag') ?? '';
  const head = await rawRequest(server.port, 'HEAD', pathOf('first.img'));
  for (const name of ['ETag', 'Content-Length', 'Repr-Digest', 'Last-Modified'])
    t.equal(headerOf(head, name), headerOf(whole, name), name);
  const part = await rawRequest(server.port, 'GET', pathOf('first.img'), {
    headers: { Range: 'bytes=1000000-', 'If-Range': tag },
  });
  t.equal(part.status, 206);
  t.ok(part.body.equals(content.subarray(1_000_000)));

  t.equal((await client.delete(pathOf('first.img'))).status, 204);
  t.strictSame((await client.delete(pathOf('first.img'))).body, missing('first.img'));
  t.same(await list(), []);
  t.equal(sideOf('QEMU/first.img'), undefined);
});

void t.test('names with spaces, Unicode, signs and folders', async (t) => {
  const names = [
    'name with spaces.img',
    'Bäume ♞.img',
    'what?#%&+.img',
    'sub/deep/x.img',
    '100%25.img',
    'a%2fb.img',
  ];
  for (const name of names) {
    await upload(name, `content of ${name}`);
    t.equal((await client.get(pathOf(name))).text, `content of ${name}`);
    t.equal((await listed(name)).filename, name.split('/').at(-1));
  }
  t.same((await list()).map(({ path }) => path).sort(), names.sort());
  t.equal(
    (await client.get(pathOf('x.img'))).text,
    'content of sub/deep/x.img',
    'a name alone is looked for',
  );
  await upload('sub\\other\\y.img', 'content');
  t.equal(readFileSync(join(folder, 'QEMU/sub/other/y.img'), 'utf8'), 'content');
  for (const name of [...names, 'y.img']) t.equal((await client.delete(pathOf(name))).status, 204, name);
});

void t.test('two images of one name in two folders', async (t) => {
  await upload('b/x.img', 'content b');
  await upload('a/x.img', 'content a');
  t.match(
    (await list()).map(({ filename, path }) => [filename, path]),
    [
      ['x.img', 'a/x.img'],
      ['x.img', 'b/x.img'],
    ],
  );
  t.equal((await client.get(pathOf('x.img'))).text, 'content a');
  t.equal((await client.get(pathOf('b/x.img'))).text, 'content b');
  t.equal((await client.delete(pathOf('x.img'))).status, 204);
  t.equal((await client.get(pathOf('x.img'))).text, 'content b');
  t.equal((await client.delete(pathOf('b/x.img'))).status, 204);
});

void t.test('each emulator has its own images, by what they begin with', async (t) => {
  await upload('iou.bin', IOU, 'iou');
  await upload('router.image', IOS, 'dynamips');
  await upload('iou.bin', 'an image of qemu');
  await upload('script', 'no program at all', 'iou');
  const names = async (emulator: string): Promise<string[]> => (await list(emulator)).map(({ path }) => path);
  t.same(await names('iou'), ['iou.bin']);
  t.same(await names('dynamips'), ['router.image']);
  t.same(await names('qemu'), ['iou.bin']);
  t.same(
    readdirSync(join(folder, 'IOS')).filter((name) => !name.endsWith('.md5sum')),
    ['router.image'],
  );
  t.equal(lstatSync(join(folder, 'IOU/iou.bin')).mode & 0o777, 0o755, 'it is a program');
  t.equal(lstatSync(join(folder, 'QEMU/iou.bin')).mode & 0o777, 0o644);
  t.equal(lstatSync(join(folder, 'IOS/router.image')).mode & 0o777, 0o644);
  for (const [name, emulator] of [
    ['iou.bin', 'iou'],
    ['script', 'iou'],
    ['router.image', 'dynamips'],
    ['iou.bin', 'qemu'],
  ] as const)
    t.equal((await client.delete(pathOf(name, emulator))).status, 204);
});

void t.test('compressed images are sent as they are', async (t) => {
  await upload('x.gz', 'not even gzip');
  const reply = await rawRequest(server.port, 'GET', pathOf('x.gz'), {
    headers: { 'Accept-Encoding': 'gzip' },
  });
  t.equal(headerOf(reply, 'Content-Encoding'), undefined);
  t.equal(reply.text, 'not even gzip');
  await client.delete(pathOf('x.gz'));
});

void t.test('an empty image is there, but too short for the list', async (t) => {
  await upload('empty', '');
  t.same(await list(), []);
  t.equal((await client.get(pathOf('empty'))).status, 200);
  t.equal((await client.delete(pathOf('empty'))).status, 204);
});

void t.test('old images beside the folders are found last', async (t) => {
  plant('old.img', 'old content');
  plant('both.img', 'old content');
  await upload('both.img', 'new content');
  t.match(
    (await list()).map(({ path }) => path),
    ['both.img', join(folder, 'old.img')],
  );
  t.equal((await client.get(pathOf('old.img'))).text, 'old content');
  t.equal((await client.get(pathOf('both.img'))).text, 'new content');
  t.equal((await listed(join(folder, 'old.img'))).md5sum, md5('old content'));
  for (const name of ['both.img', 'both.img', 'old.img'])
    t.equal((await client.delete(pathOf(name))).status, 204);
  t.same(
    readdirSync(folder).filter((name) => name.endsWith('.img')),
    [],
  );
});

void t.test('a digest that a client sends is checked, and known at once', async (t) => {
  const content = 'checked content';
  const send = (headers: Record<string, string>): Promise<Reply> =>
    client.request('POST', pathOf('checked.img'), content, headers);
  const base64 = createHash('md5').update(content).digest('base64');
  t.equal((await send({ 'Content-MD5': base64 })).status, 204);
  t.equal((await list())[0]?.md5sum, md5(content));
  await eventually('it is told beside the image', () => sideOf('QEMU/checked.img'));
  t.equal((await send({ 'Content-MD5': createHash('md5').update('else').digest('base64') })).status, 400);
  t.equal((await send({ 'Repr-Digest': `sha-256=:${sha256('else', 'base64')}:` })).status, 400);
  t.equal((await client.get(pathOf('checked.img'))).text, content);
  const head = await rawRequest(server.port, 'HEAD', pathOf('checked.img'));
  t.equal(headerOf(head, 'Repr-Digest'), `sha-256=:${sha256(content, 'base64')}:`);
  await client.delete(pathOf('checked.img'));
});

void t.test('the MD5 of an image is there when its upload is answered', async (t) => {
  const random = new RandomBytes(5);
  const digestOf = async (name: string): Promise<string | null | undefined> =>
    (await list()).find(({ filename }) => filename === name)?.md5sum;
  for (const size of [100, 64 * 1024, 300_001, 9 * MEGABYTE + 1]) {
    const content = random.next(size);
    await upload('digested.img', content);
    t.equal(await digestOf('digested.img'), md5(content), `${size} bytes`);
    await client.expect(200, 'POST', `/v2/computes/local/qemu/images/other.img`, content);
    t.equal(await digestOf('other.img'), md5(content), `${size} bytes that another image has`);
    const metadata = image('resumable.img');
    const reply = await new TusTalk(client).begin(size, metadata, { 'Content-Type': OFFSET_STREAM }, content);
    t.equal(reply.status, 201);
    t.equal(await digestOf('resumable.img'), md5(content), `${size} bytes that could be resumed`);
    const talk = new TusTalk(client);
    const path = await talk.created(size, image('resumed.img'));
    t.equal((await talk.patch(path, 0, content.subarray(0, size - 10))).status, 204);
    t.equal((await talk.patch(path, size - 10, content.subarray(size - 10))).status, 204);
    t.equal(await digestOf('resumed.img'), md5(content), `${size} bytes in two requests`);
  }
  for (const name of ['digested.img', 'other.img', 'resumable.img', 'resumed.img']) {
    await eventually('it is told beside the image', () => sideOf(`QEMU/${name}`));
    await client.expect(204, 'DELETE', pathOf(name));
  }
});

void t.test('a list does not wait for the digest of an image that somebody has put there', async (t) => {
  const path = join(folder, 'QEMU', 'huge.img');
  writeFileSync(path, '');
  // Its digest takes minutes. It is given up with the image.
  truncateSync(path, 100 * 1024 * MEGABYTE);
  for (let times = 0; times < 3; times++)
    t.match(await list(), [{ filename: 'huge.img', filesize: 100 * 1024 * MEGABYTE, md5sum: null }]);
  await upload('meanwhile.img', 'an upload');
  t.match(await list(), [{ md5sum: null }, { filename: 'meanwhile.img', md5sum: md5('an upload') }]);
  for (const name of ['huge.img', 'meanwhile.img']) await client.expect(204, 'DELETE', pathOf(name));
});

void t.test('the file beside an image is believed when it is right, and mended when it is not', async (t) => {
  const wrong = '0'.repeat(32);
  const image = plant('QEMU/side.img', 'content');
  const side = plant('QEMU/side.img.md5sum', wrong);
  const first = (await list()).find(({ path }) => path === 'side.img');
  t.equal(first?.md5sum, wrong, 'as another program has left it');
  await eventually('it is mended', () => sideOf('QEMU/side.img') === md5('content') || undefined);
  t.equal((await listed('side.img')).md5sum, md5('content'));

  for (const text of ['', 'x'.repeat(32), wrong.toUpperCase().replace('0', 'A'), `${wrong}\n`]) {
    const name = `malformed${text.length}${text.charAt(1)}.img`;
    plant(`QEMU/${name}`, name);
    plant(`QEMU/${name}.md5sum`, text);
    t.equal((await listed(name)).md5sum, md5(name));
    await eventually('it is mended', () => sideOf(`QEMU/${name}`) === md5(name) || undefined);
    await client.delete(pathOf(name));
  }

  writeFileSync(image, 'another content');
  writeFileSync(side, wrong);
  utimesSync(side, 1000, 1000);
  t.equal((await listed('side.img')).md5sum, md5('another content'), 'it is older than its image');
  await eventually('it is mended', () => sideOf('QEMU/side.img') === md5('another content') || undefined);
  await client.delete(pathOf('side.img'));
});

void t.test('planted links and FIFOs lead nowhere and hold up nothing', async (t) => {
  const outside = scratchFolder(t);
  writeFileSync(join(outside, 'secret'), 'a long secret');
  await upload('real.img', 'real content');
  const own = join(folder, 'QEMU');
  symlinkSync(join(outside, 'secret'), join(own, 'out.img'));
  symlinkSync(outside, join(own, 'out'));
  symlinkSync('real.img', join(own, 'in.img'));
  execFileSync('mkfifo', [join(own, 'fifo.img'), join(own, 'side.img.md5sum')]);
  writeFileSync(join(own, 'side.img'), 'content');
  t.same(
    (await list()).map(({ path }) => path),
    ['real.img', 'side.img'],
  );
  t.equal((await listed('side.img')).md5sum, md5('content'));
  for (const name of ['out.img', 'out/secret', 'out/new', 'fifo.img']) {
    t.equal((await client.get(pathOf(name))).status, 403, `GET ${name}`);
    t.equal((await client.delete(pathOf(name))).status, 403, `DELETE ${name}`);
    t.equal((await client.request('POST', pathOf(name), 'content')).status, 403, `POST ${name}`);
  }
  t.equal((await client.get(pathOf('in.img'))).text, 'real content');
  t.equal((await client.delete(pathOf('in.img'))).status, 403);
  t.same(readdirSync(outside), ['secret']);
  t.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'a long secret');

  mkdirSync(join(own, 'folder.img'));
  t.equal((await client.request('POST', pathOf('folder.img'), 'content')).status, 409);
  t.equal((await client.get(pathOf('folder.img'))).status, 409);
  t.equal((await client.delete(pathOf('folder.img'))).status, 409);
  t.equal((await client.request('POST', pathOf('real.img/below'), 'content')).status, 409);
  for (const name of ['real.img', 'side.img']) t.equal((await client.delete(pathOf(name))).status, 204);
});

void t.test('a download that is under way is of the image that it began with', async (t) => {
  const [before, after] = [2, 3].map((seed) => new RandomBytes(seed).next(24 * MEGABYTE));
  await upload('replaced.img', before ?? '');
  const connection = await RawConnection.open(server.port);
  connection.send('GET', pathOf('replaced.img'));
  const head = await connection.head();
  connection.socket.pause();
  await upload('replaced.img', after ?? '');
  connection.socket.resume();
  const body = await connection.bytes(Number(headerOf(head, 'Content-Length')));
  t.ok(before?.equals(body));
  connection.close();
  t.equal((await listed('replaced.img')).md5sum, md5(after ?? ''));
  await client.delete(pathOf('replaced.img'));
});

void t.test('an upload that breaks off leaves the image that was there, and its digest', async (t) => {
  await upload('kept.img', 'kept content');
  await listed('kept.img');
  await eventually('it is told beside the image', () => sideOf('QEMU/kept.img'));
  const connection = await RawConnection.open(server.port);
  connection.write(
    `POST ${pathOf('kept.img')} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\nhalf`,
  );
  await client.get('/v2/version');
  t.same(
    (await list()).map(({ path }) => path),
    ['kept.img'],
    'what is on its way is not listed',
  );
  connection.vanish();
  t.equal((await client.get(pathOf('kept.img'))).text, 'kept content');
  t.equal(sideOf('QEMU/kept.img'), md5('kept content'));
  t.same(
    readdirSync(join(folder, 'QEMU'))
      .filter((name) => name.startsWith('kept'))
      .sort(),
    ['kept.img', 'kept.img.md5sum'],
  );
  await client.delete(pathOf('kept.img'));
});

const HAS_CURL = spawnSync('curl', ['--version']).status === 0;
void t.test(
  'curl uploads and downloads',
  { skip: HAS_CURL ? false : 'there is no curl: install the package curl' },
  (t) => {
    const scratch = scratchFolder(t);
    const content = new RandomBytes(4).next(5 * MEGABYTE);
    writeFileSync(join(scratch, 'up'), content);
    const url = `${server.url}${pathOf('curled folder/x.img')}`;
    execFileSync('curl', ['-sf', '--data-binary', `@${join(scratch, 'up')}`, url]);
    execFileSync('curl', ['-sf', '-o', join(scratch, 'down'), url]);
    t.ok(readFileSync(join(scratch, 'down')).equals(content));
    t.equal(spawnSync('curl', ['-sf', '-X', 'DELETE', url]).status, 0);
    t.end();
  },
);

void t.test('digests outlive the server, but not a changed image', async (t) => {
  const data = scratchFolder(t);
  const first = await startServer(t, { data });
  const url = (name: string): string => `/v2/compute/qemu/images/${name}`;
  for (const name of ['same', 'changed'])
    await new Client(first.url).request('POST', url(name), `content ${name}`);
  const digestOf = async (port: number, name: string): Promise<string | undefined> =>
    headerOf(await rawRequest(port, 'HEAD', url(name)), 'Repr-Digest');
  t.ok(await digestOf(first.port, 'same'));
  t.equal(await first.stop(), 0);
  writeFileSync(join(data, 'images/QEMU/changed'), 'content CHANGED');
  const second = await startServer(t, { data });
  t.equal(await digestOf(second.port, 'same'), `sha-256=:${sha256('content same', 'base64')}:`);
  t.equal(await digestOf(second.port, 'changed'), undefined);
  const anew = await eventually('it is found out anew', () => digestOf(second.port, 'changed'));
  t.equal(anew, `sha-256=:${sha256('content CHANGED', 'base64')}:`);
  t.equal(await second.stop(), 0);
});

void t.test('nothing was worth a warning', (t) => {
  t.equal(server.log(), '');
  t.end();
});
