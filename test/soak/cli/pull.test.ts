/** `wirefarm pull`, through the process, against a real server and over lines that break. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';
import { cli, serving, startCli, type Ended } from '../../support/cli.js';
import { eventually } from '../../support/eventually.js';
import { FaultyLine } from '../../support/faulty-line.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';
import { StockImages } from '../../support/stock-images.js';

const environment = { WIREFARM_LOG_LEVEL: 'warn' };
const server = await startServer(t, { environment });
const MEGABYTE = 1_000_000;
/** The most bytes that the requests and answers around a file may have. */
const HEADS = 50_000;
const random = new RandomBytes(66);

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Makes an image of random bytes. */
async function imageOf(name: string, size: number, url = server.url, emulator = 'qemu'): Promise<Buffer> {
  const content = random.next(size);
  const path = name.split('/').map(encodeURIComponent).join('/');
  const response = await fetch(`${url}/v2/compute/${emulator}/images/${path}`, {
    method: 'POST',
    body: content,
  });
  if (response.status !== 204) throw new Error(`${response.status} ${await response.text()}`);
  return content;
}

const pull = (t: Teardown, url: string, ...args: string[]): Promise<Ended> =>
  cli(t, ['pull', ...args, '--url', url]);

void t.test('an image becomes a file, and is not fetched again', async (t) => {
  const folder = scratchFolder(t);
  const target = join(folder, 'mine.img');
  const content = await imageOf('plain.img', 3 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  const first = await pull(t, line.url, 'plain.img', '--output', target);
  t.match(first, { code: 0, errors: '' });
  t.match(first.output, `plain.img is at ${target}: fetched 3.00 MB in 0:0`);
  t.match(first.output, `, sha-256 ${sha256(content)}\n`);
  t.ok(readFileSync(target).equals(content));
  const fetched = line.passed.down;
  t.same(await pull(t, line.url, 'plain.img', '--output', target), {
    code: 0,
    output: `${target} is plain.img already: nothing was fetched\n`,
    errors: '',
  });
  t.ok(line.passed.down < fetched + HEADS);
  t.same(readdirSync(folder), ['mine.img']);
});

void t.test('names may have folders and whatever else a name can have; a folder gets them', async (t) => {
  const folder = scratchFolder(t);
  for (const name of ['sub dir/ü 漢字?#%41&=.img', 'a/b/c.img', '100%']) {
    const content = await imageOf(name, 50_000);
    t.match(await pull(t, server.url, name, '--output', folder), { code: 0, errors: '' }, name);
    t.ok(readFileSync(join(folder, basename(name))).equals(content), name);
  }
  const content = await imageOf('router', 50_000, server.url, 'iou');
  const output = join(folder, 'of iou');
  t.same(await pull(t, server.url, 'router', '--iou', '--quiet', '--output', output), {
    code: 0,
    output: '',
    errors: '',
  });
  t.ok(readFileSync(output).equals(content));
  await imageOf('empty.img', 0);
  t.match(await pull(t, server.url, 'empty.img', '--output', folder), { code: 0, output: /: fetched 0 B / });
  t.equal(readFileSync(join(folder, 'empty.img')).length, 0);
});

void t.test('a file that is another is replaced only when that is wanted', async (t) => {
  const target = join(scratchFolder(t), 'kept.img');
  const content = await imageOf('kept.img', 100_000);
  for (const size of [100_000, 5]) {
    const mine = random.next(size);
    writeFileSync(target, mine);
    t.same(await pull(t, server.url, 'kept.img', '--output', target), {
      code: 1,
      output: '',
      errors: `wirefarm: ${target} is there and may be something else: --force replaces it\n`,
    });
    t.ok(readFileSync(target).equals(mine));
  }
  t.match(await pull(t, server.url, 'kept.img', '--output', target, '--force'), { code: 0, errors: '' });
  t.ok(readFileSync(target).equals(content));
});

void t.test('a file that appears meanwhile is kept', async (t) => {
  const target = join(scratchFolder(t), 'late.img');
  await imageOf('late.img', 4 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  const held = line.after('down', MEGABYTE, 'hold');
  const program = startCli(t, ['pull', 'late.img', '--output', target, '--url', line.url]);
  await held;
  writeFileSync(target, 'mine');
  line.release();
  t.match(await program.ended, { code: 1, errors: /--force replaces it\n$/ });
  t.equal(readFileSync(target, 'utf8'), 'mine');
});

void t.test('a line that breaks again and again costs nothing but the pauses', async (t) => {
  const folder = scratchFolder(t);
  const content = await imageOf('broken.img', 12 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  for (const megabytes of [2, 5, 9]) void line.after('down', megabytes * MEGABYTE, 'cut');
  const { code, output, errors } = await pull(t, line.url, 'broken.img', '--output', folder);
  t.match({ code, output, errors }, { code: 0, output: /: fetched 12\.0 MB /, errors: '' });
  t.ok(readFileSync(join(folder, 'broken.img')).equals(content));
  t.ok(line.passed.down < 12 * MEGABYTE + HEADS, `${line.passed.down} bytes came`);
  t.same(readdirSync(folder), ['broken.img']);
});

/** Fetches six of ten megabytes, and is stopped. */
async function interrupted(t: Teardown, line: FaultyLine, name: string, folder: string): Promise<Ended> {
  const held = line.after('down', 6 * MEGABYTE, 'hold');
  const program = startCli(t, ['pull', name, '--output', folder, '--url', line.url]);
  await held;
  await eventually('everything that has passed is in the part', () => {
    const part = readdirSync(folder).find((file) => file.endsWith('.part'));
    return part !== undefined && statSync(join(folder, part)).size > 5.9 * MEGABYTE ? part : undefined;
  });
  program.child.kill('SIGINT');
  return program.ended;
}

void t.test('Ctrl-C leaves a hidden part that the next pull goes on with', async (t) => {
  const folder = scratchFolder(t);
  const content = await imageOf('interrupted.img', 10 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  t.match(await interrupted(t, line, 'interrupted.img', folder), {
    code: 1,
    output: '',
    errors: /^wirefarm: interrupted: the same command goes on from (5\.9|6\.0)\d MB\n$/,
  });
  t.match(readdirSync(folder), [/^\.interrupted\.img\.[0-9a-f]{16}\.part$/]);
  const again = await pull(t, line.url, 'interrupted.img', '--output', folder);
  t.match(again, {
    code: 0,
    output: /: fetched 4\.[01]\d MB .*, (5\.9|6\.0)\d MB were there from before, sha/,
  });
  t.ok(readFileSync(join(folder, 'interrupted.img')).equals(content));
  t.ok(line.passed.down < 11 * MEGABYTE, `${line.passed.down} bytes came`);
  t.same(readdirSync(folder), ['interrupted.img']);
});

void t.test('a part of an image that was replaced is of no use', async (t) => {
  const folder = scratchFolder(t);
  await imageOf('replaced.img', 10 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  await interrupted(t, line, 'replaced.img', folder);
  const content = await imageOf('replaced.img', 10 * MEGABYTE);
  t.match(await pull(t, line.url, 'replaced.img', '--output', folder), {
    code: 0,
    output: /: fetched 10\.0 MB in [^,]*, sha-256/,
  });
  t.ok(readFileSync(join(folder, 'replaced.img')).equals(content));
  t.same(readdirSync(folder), ['replaced.img']);
});

void t.test('a part that was damaged on this disk is found out and goes', async (t) => {
  const folder = scratchFolder(t);
  const content = await imageOf('damaged.img', 10 * MEGABYTE);
  const line = await FaultyLine.open(t, server.port);
  await interrupted(t, line, 'damaged.img', folder);
  const part = join(folder, readdirSync(folder)[0] ?? '');
  const bytes = readFileSync(part);
  bytes[1000] = (bytes[1000] ?? 0) ^ 1;
  writeFileSync(part, bytes);
  t.match(await pull(t, line.url, 'damaged.img', '--output', folder), {
    code: 1,
    output: '',
    errors:
      /^wirefarm: what came of damaged\.img has another digest than .* says: it was not kept, pull once more\n$/,
  });
  t.same(readdirSync(folder), []);
  t.match(await pull(t, line.url, 'damaged.img', '--output', folder), { code: 0 });
  t.ok(readFileSync(join(folder, 'damaged.img')).equals(content));
});

void t.test('a server that is killed and comes back is asked for the rest', async (t) => {
  const [data, folder] = [scratchFolder(t), scratchFolder(t)];
  const first = await startServer(t, { data, environment });
  const content = await imageOf('restart.img', 10 * MEGABYTE, first.url);
  const line = await FaultyLine.open(t, first.port);
  const held = line.after('down', 6 * MEGABYTE, 'hold');
  const program = startCli(t, ['pull', 'restart.img', '--output', folder, '--url', line.url]);
  await held;
  await first.stop('SIGKILL');
  const second = await startServer(t, { data, environment });
  line.port = second.port;
  line.release();
  t.match(await program.ended, { code: 0, errors: '' });
  t.ok(readFileSync(join(folder, 'restart.img')).equals(content));
  t.ok(line.passed.down < 11 * MEGABYTE, `${line.passed.down} bytes came`);
});

void t.test('a server of GNS3 is asked for the whole, which its MD5 proves', async (t) => {
  const folder = scratchFolder(t);
  const stock = await StockImages.start(t);
  const content = random.next(2 * MEGABYTE);
  stock.content.set('stock.img', content);
  const line = await FaultyLine.open(t, Number(new URL(stock.url).port));
  void line.after('down', MEGABYTE * 2.5, 'cut');
  t.match(await pull(t, line.url, 'stock.img', '--output', folder), { code: 0, errors: '' });
  t.ok(readFileSync(join(folder, 'stock.img')).equals(content));
  t.match(await pull(t, stock.url, 'stock.img', '--output', folder), {
    output: /already: nothing was fetched/,
  });
  stock.wrongMd5 = '0'.repeat(32);
  const other = join(folder, 'other');
  t.match(await pull(t, stock.url, 'stock.img', '--output', other), {
    code: 1,
    errors: /another digest than .* says/,
  });
  t.same(readdirSync(folder), ['stock.img']);
});

void t.test('another part than was asked for is not taken', async (t) => {
  const folder = scratchFolder(t);
  const url = await serving(t, ({ method, url = '', headers }, response) => {
    const facts = { ETag: '"1"', 'Content-Length': 100 };
    if (url.endsWith('/images')) response.end('[]');
    else if (method === 'HEAD') response.writeHead(200, facts).end();
    else if (headers.range === undefined)
      response.writeHead(200, facts).write(Buffer.alloc(50), () => response.destroy());
    else response.writeHead(206, { ETag: '"1"', 'Content-Range': 'bytes 0-99/100' }).end(Buffer.alloc(100));
  });
  t.match(await pull(t, url, 'x.img', '--output', folder), {
    code: 1,
    errors: /sent another part than was asked for/,
  });
});

void t.test('a pull that cannot be done is told in one line', async (t) => {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'a/x.img'), { recursive: true });
  await imageOf('x.img', 10);
  const wrong: [code: number, args: string[], message: string | RegExp][] = [
    [2, [], 'say which image: wirefarm pull --help'],
    [2, ['a', 'b'], 'one image at a time: wirefarm pull --help'],
    [2, ['a', '--iou', '--dynamips'], '--iou or --dynamips, not both'],
    [2, ['../x'], "'../x' is no name of an image"],
    [1, ['none.img'], 'The image none.img is missing'],
    [1, ['x.img', '--iou'], 'The image x.img is missing'],
    [1, ['x.img', '--output', join(folder, 'none/x.img')], /^cannot write .*\(ENOENT\)$/],
    [1, ['x.img', '--output', join(folder, 'a')], /^.*\/a\/x\.img is no file, and is not replaced$/],
    [1, ['x.img', '--output', '/dev/null', '--force'], '/dev/null is no file, and is not replaced'],
    [
      1,
      ['x.img', '--url', 'http://127.0.0.1:1'],
      /^no server answers at http:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\)/,
    ],
  ];
  for (const [code, args, message] of wrong) {
    const ended = await cli(t, ['pull', '--url', server.url, ...args]);
    const text = ended.errors.replace(/^wirefarm: (.*)\n$/s, '$1');
    t.match({ ...ended, text }, { code, output: '', text: message }, args.join(' '));
  }
  t.match(await cli(t, ['pull', '--help']), { code: 0, output: /^Usage:\n {2}wirefarm pull NAME / });
});
