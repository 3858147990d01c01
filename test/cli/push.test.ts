/** `wirefarm push`, through the process, against a real server and over lines that break. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cli, serving, startCli, type Ended } from '../support/cli.js';
import { FaultyLine } from '../support/faulty-line.js';
import { RandomBytes } from '../support/random.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { StockImages } from '../support/stock-images.js';

const environment = { WIREFARM_LOG_LEVEL: 'warn' };
const server = await startServer(t, { environment });
const MEGABYTE = 1_000_000;
/** The most bytes that the requests and answers around a file may have. */
const HEADS = 50_000;
const random = new RandomBytes(65);

/** A new file of random bytes. */
function fileOf(t: Teardown, name: string, size: number): string {
  const path = join(scratchFolder(t), name);
  writeFileSync(path, random.next(size));
  return path;
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const push = (t: Teardown, url: string, ...args: string[]): Promise<Ended> =>
  cli(t, ['push', ...args, '--url', url]);

async function image(name: string, emulator = 'qemu', url = server.url): Promise<Buffer> {
  const path = name.split('/').map(encodeURIComponent).join('/');
  const response = await fetch(`${url}/v2/compute/${emulator}/images/${path}`);
  return Buffer.from(await response.arrayBuffer());
}

void t.test('a file becomes an image of that name, and is not sent again', async (t) => {
  const path = fileOf(t, 'disk one.qcow2', 3 * MEGABYTE);
  const content = readFileSync(path);
  const line = await FaultyLine.open(t, server.port);
  const first = await push(t, line.url, path);
  t.match(first, { code: 0, errors: '' });
  t.match(first.output, `disk one.qcow2 is on ${line.url}: sent 3.00 MB in 0:0`);
  t.match(first.output, `, sha-256 ${sha256(content)}\n`);
  t.ok((await image('disk one.qcow2')).equals(content));
  const sent = line.passed.up;
  t.same(await push(t, line.url, path), {
    code: 0,
    output: `disk one.qcow2 is on ${line.url} already: nothing was sent\n`,
    errors: '',
  });
  t.ok(line.passed.up < sent + HEADS);
  // The same size is not the same content.
  const other = fileOf(t, 'disk one.qcow2', 3 * MEGABYTE);
  t.match(await push(t, line.url, other), { code: 0, output: /: sent 3\.00 MB / });
  t.ok((await image('disk one.qcow2')).equals(readFileSync(other)));
});

void t.test('names may have folders and whatever else a name can have, emulators are two more', async (t) => {
  const path = fileOf(t, 'x', 100_000);
  const content = readFileSync(path);
  for (const name of ['sub dir/ü 漢字?#%41&=.img', 'a/b/c.img', '100%', 'plus+;,.img']) {
    t.match(await push(t, server.url, path, '--name', name), { code: 0, errors: '' }, name);
    t.ok((await image(name)).equals(content), name);
    t.match(await push(t, server.url, path, '--name', name), { output: / already: nothing was sent\n$/ });
  }
  for (const emulator of ['iou', 'dynamips']) {
    t.same(await push(t, server.url, path, `--${emulator}`, '--quiet'), { code: 0, output: '', errors: '' });
    t.ok((await image('x', emulator)).equals(content), emulator);
  }
  const empty = fileOf(t, 'empty.img', 0);
  t.match(await push(t, server.url, empty), { code: 0, output: /: sent 0 B / });
  t.equal((await image('empty.img')).length, 0);
});

void t.test('a line that breaks again and again costs nothing but the pauses', async (t) => {
  const path = fileOf(t, 'broken.img', 12 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  for (const megabytes of [2, 5, 9]) void line.after('up', megabytes * MEGABYTE, 'cut');
  t.match(await push(t, line.url, path), { code: 0, output: /: sent 12\.0 MB .* sha-256/, errors: '' });
  t.ok((await image('broken.img')).equals(readFileSync(path)));
  t.ok(line.passed.up < 12 * MEGABYTE + HEADS, `${line.passed.up} bytes were sent`);
});

void t.test('a server that is killed and comes back is sent the rest', async (t) => {
  const data = scratchFolder(t);
  const first = await startServer(t, { data, environment });
  const line = await FaultyLine.open(t, first.port);
  const path = fileOf(t, 'restart.img', 20 * MEGABYTE);
  const held = line.after('up', 15 * MEGABYTE, 'hold');
  const program = startCli(t, ['push', path, '--url', line.url]);
  await held;
  await first.stop('SIGKILL');
  const second = await startServer(t, { data, environment });
  line.port = second.port;
  t.match(await program.ended, { code: 0, errors: '' });
  t.ok((await image('restart.img', 'qemu', second.url)).equals(readFileSync(path)));
  t.ok(line.passed.up < 30 * MEGABYTE, `${line.passed.up} bytes were sent`);
});

void t.test('Ctrl-C leaves what the next push goes on with', async (t) => {
  const path = fileOf(t, 'interrupted.img', 10 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  const held = line.after('up', 6 * MEGABYTE, 'hold');
  const program = startCli(t, ['push', path, '--url', line.url]);
  await held;
  program.child.kill('SIGINT');
  t.same(await program.ended, {
    code: 1,
    output: '',
    errors: 'wirefarm: interrupted: the same command sends the rest\n',
  });
  const before = line.passed.up;
  const again = await push(t, line.url, path);
  t.match(again, { code: 0, output: /: sent 4\.0\d MB .*, (5\.9|6\.0)\d MB were there from before, sha/ });
  t.ok(line.passed.up < before + 4 * MEGABYTE + HEADS);
  t.ok((await image('interrupted.img')).equals(readFileSync(path)));
});

void t.test('the rest of another content is not continued', async (t) => {
  const path = fileOf(t, 'other.img', 4 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  const held = line.after('up', 2 * MEGABYTE, 'hold');
  const program = startCli(t, ['push', path, '--url', line.url]);
  await held;
  program.child.kill('SIGINT');
  await program.ended;
  writeFileSync(path, random.next(4 * MEGABYTE));
  t.match(await push(t, server.url, path), { code: 0, output: /: sent 4\.00 MB in [^,]*, sha-256/ });
  t.ok((await image('other.img')).equals(readFileSync(path)));
});

void t.test('content that the line has changed is reported and not kept', async (t) => {
  const path = fileOf(t, 'flipped.img', 2 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  void line.after('up', MEGABYTE, 'flip');
  t.same(await push(t, line.url, path), {
    code: 1,
    output: '',
    errors: `wirefarm: what arrived at ${line.url} has another digest than ${path}: it was not kept, push once more\n`,
  });
  t.match(await push(t, line.url, path), { code: 0, output: /: sent 2\.00 MB in [^,]*, sha-256/ });
});

void t.test('a file that is changed while it is sent is told', async (t) => {
  const path = fileOf(t, 'changed.img', 8 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  const cut = line.after('up', 6 * MEGABYTE, 'hold');
  const program = startCli(t, ['push', path, '--url', line.url]);
  await cut;
  writeFileSync(path, random.next(MEGABYTE));
  line.release();
  t.same(await program.ended, {
    code: 1,
    output: '',
    errors: `wirefarm: ${path} was changed while it was read: push it once more\n`,
  });
});

void t.test('somebody else who sends the same is left alone', async (t) => {
  const path = fileOf(t, 'busy.img', 1000);
  const metadata = `sha256 ${Buffer.from(sha256(readFileSync(path))).toString('base64')}`;
  let received = 0;
  const methods: string[] = [];
  const url = await serving(t, ({ method = '', url: asked = '' }, response) => {
    methods.push(method);
    const upload = { upload_id: 'a', protocol: 'tus', emulator: 'qemu', filename: 'busy.img', size: 1000 };
    if (asked === '/v2/uploads')
      response.end(JSON.stringify([{ ...upload, state: 'receiving', received: received++ }]));
    else if (asked === '/v2/uploads/a') response.writeHead(200, { 'Upload-Metadata': metadata }).end('{}');
    else response.writeHead(404).end('{"message": "The image is missing"}');
  });
  t.same(await push(t, url, path), {
    code: 1,
    output: '',
    errors: 'wirefarm: busy.img is being sent by somebody else at this moment\n',
  });
  t.same(
    methods.filter((method) => method !== 'GET' && method !== 'HEAD'),
    [],
  );
});

void t.test('a server of GNS3 gets the file as a whole, and its MD5 is enough to know it', async (t) => {
  const stock = await StockImages.start(t);
  const path = fileOf(t, 'stock ü.img', MEGABYTE);
  t.match(await push(t, stock.url, path), { code: 0, output: /: sent 1\.00 MB /, errors: '' });
  t.ok(stock.content.get('stock ü.img')?.equals(readFileSync(path)));
  t.match(await push(t, stock.url, path), { code: 0, output: / already: nothing was sent\n$/ });
  writeFileSync(path, random.next(MEGABYTE));
  t.match(await push(t, stock.url, path), { code: 0, output: /: sent 1\.00 MB / });
  t.ok(stock.content.get('stock ü.img')?.equals(readFileSync(path)));
  const line = await FaultyLine.open(t, Number(new URL(stock.url).port));
  void line.after('up', MEGABYTE / 2, 'cut');
  writeFileSync(path, random.next(MEGABYTE));
  const { code, errors } = await push(t, line.url, path);
  t.equal(code, 1);
  t.match(
    errors,
    /^wirefarm: the connection to .* broke \(\w+\), and this server cannot go on with a part\n$/,
  );
});

void t.test('a push that cannot be done is told in one line', async (t) => {
  const folder = scratchFolder(t);
  const path = fileOf(t, 'y.img', 10);
  mkdirSync(join(folder, 'folder'));
  const { url } = server;
  const wrong: [code: number, args: string[], message: string | RegExp][] = [
    [2, [], 'say which file: wirefarm push --help'],
    [2, [path, path], 'one file at a time: wirefarm push --help'],
    [2, [path, '--nonsense'], /^Unknown option '--nonsense'.* \(wirefarm push --help\)$/],
    [2, [path, '--iou', '--dynamips'], '--iou or --dynamips, not both'],
    [2, [path, '--name', 'a/../b'], "'a/../b' is no name of an image"],
    [2, [path, '--name', '/b'], "'/b' is no name of an image"],
    [1, [join(folder, 'none')], `cannot read ${join(folder, 'none')} (ENOENT)`],
    [1, [join(folder, 'folder')], `${join(folder, 'folder')} is no file`],
    [1, [path, '--name', '.hidden'], /\.hidden/],
    [
      1,
      [path, '--url', 'http://127.0.0.1:1'],
      /^no server answers at http:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\)/,
    ],
  ];
  for (const [code, args, message] of wrong) {
    const ended = await cli(t, ['push', '--url', url, ...args]);
    const text = ended.errors.replace(/^wirefarm: (.*)\n$/s, '$1');
    t.match({ ...ended, text }, { code, output: '', text: message }, args.join(' '));
    t.equal(text.split('\n').length, 1);
  }
  t.match(await cli(t, ['push', '--help']), { code: 0, output: /^Usage:\n {2}wirefarm push FILE / });
});
