/** Symbols: the built-in ones, and those that clients add. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const data = scratchFolder(t);
const folder = join(data, 'symbols');
mkdirSync(join(folder, 'mine'), { recursive: true });
writeFileSync(join(folder, 'mine', 'box.svg'), '<svg width="30" height="20"></svg>');
writeFileSync(join(folder, 'notes.txt'), 'no picture');
const server = await startServer(t, { data });
const client = new Client(server.url);

interface Entry {
  readonly builtin: boolean;
  readonly filename: string;
  readonly symbol_id: string;
  readonly theme: string;
}

const THEMES = ['circle', 'square'].flatMap((shape) =>
  ['blue', 'gray', 'red'].map((colour) => `Affinity-${shape}-${colour}`),
);

async function listed(): Promise<Entry[]> {
  return (await client.get('/v2/symbols')).body as Entry[];
}

const raw = (id: string): string => `/v2/symbols/${id}/raw`;
const dimensions = (id: string): string => `/v2/symbols/${id}/dimensions`;

/** A PNG of one colour; only its head is looked at. */
function png(width: number, height: number): Buffer {
  const head = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([head, size, Buffer.from('0802000000', 'hex')]);
}

void t.test('lists every symbol under the id of its theme, sorted by theme', async (t) => {
  const symbols = await listed();
  const themes = symbols.map(({ theme }) => theme);
  t.strictSame(themes, [...themes].sort());
  const builtin = symbols.filter((symbol) => symbol.builtin);
  t.ok(builtin.length > 400);
  for (const { symbol_id, filename, theme } of builtin) {
    const path = theme === 'Classic' ? 'classic' : theme.toLowerCase().replaceAll('-', '/');
    t.equal(symbol_id, `:/symbols/${path}/${filename}`);
  }
  t.equal(new Set(symbols.map(({ symbol_id }) => symbol_id)).size, symbols.length);
});

void t.test('lists the pictures of the symbols folder, in folders, too', async (t) => {
  t.strictSame(
    (await listed()).filter(({ builtin }) => !builtin),
    [{ builtin: false, filename: 'box.svg', symbol_id: 'mine/box.svg', theme: 'Custom symbols' }],
  );
});

void t.test('names a symbol for every category, theme by theme, and all of them exist', async (t) => {
  const { body } = await client.get('/v2/default_symbols');
  const themes = body as Record<string, Record<string, string>>;
  t.strictSame(Object.keys(themes).sort(), [...THEMES, 'Classic'].sort());
  const known = new Set((await listed()).map(({ symbol_id }) => symbol_id));
  for (const [theme, categories] of Object.entries(themes)) {
    t.strictSame(Object.keys(categories).sort(), [
      'atm_switch',
      'cloud',
      'computer',
      'docker_guest',
      'ethernet_hub',
      'ethernet_switch',
      'firewall',
      'frame_relay_switch',
      'multilayer_switch',
      'nat',
      'qemu_guest',
      'router',
      'vbox_guest',
      'vmware_guest',
      'vpcs_guest',
    ]);
    for (const id of Object.values(categories)) t.ok(known.has(id), `${theme}: ${id}`);
  }
});

void t.test('draws every built-in symbol at the size that it tells', async (t) => {
  const builtin = (await listed()).filter((symbol) => symbol.builtin);
  const some = builtin.filter(({ theme }, index) => theme === 'Classic' || index % 25 === 0);
  for (const { symbol_id } of some) {
    const size = await client.expect(200, 'GET', dimensions(symbol_id));
    const picture = await client.get(raw(symbol_id));
    t.equal(picture.headers.get('content-type'), 'image/svg+xml');
    t.match(picture.text, new RegExp(`<svg[^>]* width="${String(size['width'])}"`), symbol_id);
    t.match(picture.text, new RegExp(`<svg[^>]* height="${String(size['height'])}"`), symbol_id);
  }
});

void t.test('the symbols of stock nodes have the sizes that saved projects expect', async (t) => {
  const sizes = {
    ':/symbols/computer.svg': { height: 59, width: 65 },
    ':/symbols/ethernet_switch.svg': { height: 32, width: 72 },
    ':/symbols/hub.svg': { height: 32, width: 72 },
    ':/symbols/atm_switch.svg': { height: 48, width: 51 },
    ':/symbols/frame_relay_switch.svg': { height: 48, width: 51 },
    ':/symbols/router.svg': { height: 45, width: 66 },
    ':/symbols/cloud.svg': { height: 71, width: 159 },
    ':/symbols/affinity/square/blue/router.svg': { height: 60, width: 60 },
  };
  for (const [id, size] of Object.entries(sizes)) {
    t.strictSame((await client.get(dimensions(id))).body, size, id);
  }
});

void t.test('an unknown symbol looks like the classic one of its name, else like a computer', async (t) => {
  const router = (await client.get(raw(':/symbols/classic/router.svg'))).text;
  const computer = (await client.get(raw(':/symbols/classic/computer.svg'))).text;
  t.not(router, computer);
  t.equal((await client.get(raw(':/symbols/router.svg'))).text, router);
  t.equal((await client.get(raw(':/symbols/lost/theme/router.svg'))).text, router);
  for (const id of [':/symbols/no-such.svg', 'nothing', 'a/b/c']) {
    const reply = await client.get(raw(id));
    t.equal(reply.status, 200);
    t.equal(reply.text, computer, id);
    t.strictSame((await client.get(dimensions(id))).body, { height: 59, width: 65 });
  }
});

void t.test('an id may be percent-encoded, and once more', async (t) => {
  const id = ':/symbols/classic/router.svg';
  const { text } = await client.get(raw(id));
  const once = encodeURIComponent(id);
  for (const path of [once, encodeURIComponent(once)]) {
    t.equal((await client.get(raw(path))).text, text, path);
    t.strictSame((await client.get(dimensions(path))).body, { height: 45, width: 66 });
  }
});

void t.test('a client adds a symbol, and nodes can have it', async (t) => {
  const picture = png(40, 25);
  const reply = await client.request('POST', raw('router%20two.png'), picture);
  t.equal(reply.status, 204);
  t.equal(reply.text, '');
  t.ok(readFileSync(join(folder, 'router two.png')).equals(picture));
  t.hasStrict(
    (await listed()).find(({ symbol_id }) => symbol_id === 'router two.png'),
    {
      builtin: false,
      filename: 'router two.png',
      theme: 'Custom symbols',
    },
  );
  const read = await fetch(server.url + raw('router%20two.png'));
  t.equal(read.headers.get('content-type'), 'image/png');
  t.ok(Buffer.from(await read.arrayBuffer()).equals(picture));
  t.strictSame((await client.get(dimensions('router%20two.png'))).body, { height: 25, width: 40 });

  const { project_id } = await client.expect(201, 'POST', '/v2/projects', { name: 'symbols' });
  const node = await client.expect(201, 'POST', `/v2/projects/${String(project_id)}/nodes`, {
    name: 'n',
    node_type: 'ethernet_hub',
    compute_id: 'local',
    symbol: 'router two.png',
  });
  t.hasStrict(node, { symbol: 'router two.png', width: 40, height: 25, label: { y: -22 } });
});

void t.test('a symbol that comes again replaces the one before', async (t) => {
  for (const width of [11, 22]) {
    t.equal(
      (await client.request('POST', raw('again.svg'), `<svg width="${width}" height="5"/>`)).status,
      204,
    );
    t.strictSame((await client.get(dimensions('again.svg'))).body, { height: 5, width });
  }
  t.equal((await listed()).filter(({ symbol_id }) => symbol_id === 'again.svg').length, 1);
});

void t.test('a new symbol lands in the symbols folder whatever folder its id names', async (t) => {
  for (const id of ['deep/er/one.svg', '..%2F..%2Ftwo.svg', '%2Fetc%2Fthree.svg']) {
    t.equal((await client.request('POST', raw(id), '<svg width="1" height="1"/>')).status, 204, id);
  }
  for (const name of ['one.svg', 'two.svg', 'three.svg']) {
    t.match(readFileSync(join(folder, name), 'utf8'), '<svg');
    t.ok((await listed()).some(({ symbol_id }) => symbol_id === name));
  }
});

void t.test('a file that would not be listed again is refused', async (t) => {
  for (const id of ['notes.txt', 'svg', '.hidden.svg']) {
    t.equal((await client.request('POST', raw(id), '<svg/>')).status, 400, id);
  }
});

void t.test('a symbol whose size cannot be read has none', async (t) => {
  t.equal((await client.request('POST', raw('blob.png'), 'this is no picture')).status, 204);
  const reply = await client.get(dimensions('blob.png'));
  t.hasStrict(reply, { status: 404, body: { status: 404 } });
  t.equal((await client.get(raw('blob.png'))).text, 'this is no picture');
});

void t.test('added symbols survive a restart', async (t) => {
  const before = await listed();
  await server.stop();
  const next = await startServer(t, { data });
  const after = (await new Client(next.url).get('/v2/symbols')).body as Entry[];
  const custom = (symbols: Entry[]): string[] =>
    symbols.flatMap((symbol) => (symbol.builtin ? [] : [symbol.symbol_id])).sort();
  t.ok(custom(before).length > 5);
  t.strictSame(custom(after), custom(before));
});
