/** Appliances: files of a folder that clients make into templates. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const folder = scratchFolder(t);
const server = await startServer(t, { flags: ['--appliances', folder] });
const client = new Client(server.url);

/** Fields that every file of the public registry has. */
const APPLIANCE = {
  category: 'router',
  description: 'a router',
  maintainer: 'somebody',
  maintainer_email: 'somebody@example.org',
  name: 'Router 1',
  product_name: 'Router',
  registry_version: 4,
  status: 'stable',
  vendor_name: 'Vendor',
  vendor_url: 'https://example.org/',
};
const QEMU = { adapter_type: 'e1000', adapters: 4, arch: 'x86_64', console_type: 'telnet', ram: 256 };

function place(name: string, content: unknown): void {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
}

async function listed(query = ''): Promise<Record<string, unknown>[]> {
  return (await client.get(`/v2/appliances${query}`)).body as Record<string, unknown>[];
}

void t.test('an empty folder, and one that is not there, have no appliances', async (t) => {
  t.strictSame(await listed(), []);
  const bare = await startServer(t);
  t.strictSame((await new Client(bare.url).get('/v2/appliances?symbol_theme=Classic')).body, []);
});

void t.test('files are listed as they are when a client asks for an update', async (t) => {
  place('b.gns3a', {
    ...APPLIANCE,
    qemu: QEMU,
    versions: [{ name: '1.0', images: { hda_disk_image: 'd' } }],
  });
  place('a.gns3a', {
    ...APPLIANCE,
    name: 'Box',
    category: 'guest',
    docker: { adapters: 1, image: 'box:1' },
    symbol: ':/symbols/x.svg',
  });
  place('c.gns3appliance', {
    ...APPLIANCE,
    name: 'Wall',
    category: 'firewall',
    qemu: QEMU,
    symbol: 'wall.svg',
  });
  place('broken.gns3a', { ...APPLIANCE, name: 'Broken', status: 'broken', qemu: QEMU });
  place('README.md', 'no appliance');
  t.strictSame(await listed(), [], 'the folder has been read');
  t.strictSame(await listed('?update=yes'), [
    {
      ...APPLIANCE,
      name: 'Box',
      category: 'guest',
      docker: { adapters: 1, image: 'box:1' },
      builtin: false,
      symbol: ':/symbols/classic/docker_guest.svg',
    },
    {
      ...APPLIANCE,
      qemu: QEMU,
      versions: [{ name: '1.0', images: { hda_disk_image: 'd' } }],
      builtin: false,
      symbol: ':/symbols/classic/router.svg',
    },
    { ...APPLIANCE, name: 'Wall', category: 'firewall', qemu: QEMU, builtin: false, symbol: 'wall.svg' },
  ]);
  t.equal((await listed()).length, 3);
});

void t.test('built-in symbols are those of the theme that the client asks for', async (t) => {
  const symbols = (await listed('?symbol_theme=Affinity-circle-red')).map(({ symbol }) => symbol);
  t.same(symbols, [
    ':/symbols/affinity/circle/red/docker.svg',
    ':/symbols/affinity/circle/red/router.svg',
    'wall.svg',
  ]);
  for (const theme of ['Sepia', '__proto__']) {
    t.match(await client.get(`/v2/appliances?symbol_theme=${theme}`), {
      status: 404,
      body: { message: `Could not find symbol theme '${theme}'` },
    });
  }
});

void t.test('damaged files are named in the log and left out', async (t) => {
  const outside = scratchFolder(t);
  writeFileSync(join(outside, 'secret.gns3a'), JSON.stringify({ ...APPLIANCE, name: 'Secret', qemu: QEMU }));
  symlinkSync(join(outside, 'secret.gns3a'), join(folder, 'link.gns3a'));
  mkdirSync(join(folder, 'folder.gns3a'));
  place('half.gns3a', '{"name": "Half",');
  place('deep.gns3a', `{"qemu": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
  place('large.gns3a', `"${'x'.repeat(1024 * 1024)}"`);
  place('list.gns3a', []);
  place('vendorless.gns3a', { ...APPLIANCE, vendor_name: undefined, qemu: QEMU });
  place('nothing.gns3a', APPLIANCE);
  t.equal((await listed('?update=yes')).length, 3);
  for (const name of ['link', 'folder', 'half', 'deep', 'large', 'list', 'vendorless', 'nothing'])
    await server.logged(new RegExp(`"file":"${name}.gns3a"`));
  await server.logged(/vendor_name/);
});

void t.test('many clients that ask at once get the same list', async (t) => {
  const lists = await Promise.all(
    Array.from({ length: 100 }, (_, index) => listed(index % 2 === 0 ? '?update=yes' : '')),
  );
  t.ok(lists.every((list) => list.length === 3));
});

void t.test('an appliance becomes a template as the wizards of both clients make it', async (t) => {
  const [, router] = await listed();
  const { name, category, symbol, qemu } = router as { qemu: typeof QEMU } & Record<string, unknown>;
  const { arch, ...settings } = qemu;
  const template = await client.expect(201, 'POST', '/v2/templates', {
    ...{ name, category, symbol, ...settings },
    compute_id: 'local',
    default_name_format: '{name}-{0}',
    hda_disk_image: 'd',
    platform: arch,
    template_type: 'qemu',
  });
  t.match(template, { name, category, symbol, adapters: 4, ram: 256, hda_disk_image: 'd' });
});

void t.test('a folder that was removed is empty', async (t) => {
  rmSync(folder, { recursive: true });
  t.strictSame(await listed('?update=yes'), []);
});
