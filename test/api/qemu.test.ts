/** QEMU beside its nodes: programs of this host, and disks that clients make among the images. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

interface Binary {
  readonly path: string;
  readonly version: string;
}

const isMissing = spawnSync('qemu-img', ['--version']).status !== 0;
const skip = isMissing && 'the program qemu-img is missing: install the package qemu-utils';
const server = await startServer(t);
const client = new Client(server.url);
const folder = join(server.data, 'images', 'QEMU');
const IMG = '/v2/compute/qemu/img';
const qcow2 = (path: string): Record<string, unknown> => ({
  qemu_img: '/usr/bin/qemu-img',
  path,
  format: 'qcow2',
  size: 16,
});

function sizeOf(name: string, format = 'qcow2'): unknown {
  const { stdout } = spawnSync('qemu-img', ['info', '--output=json', '-f', format, join(folder, name)]);
  return (JSON.parse(stdout.toString()) as Record<string, unknown>)['virtual-size'];
}

void t.test('the programs of this host are told on both sides, with their versions', { skip }, async (t) => {
  for (const base of ['/v2/compute/qemu', '/v2/computes/local/qemu']) {
    const img = (await client.expect(200, 'GET', `${base}/img-binaries`)) as unknown as Binary[];
    t.match(img, [{ path: /\/qemu-img$/, version: /^\d+\.\d/ }]);
    const all = (await client.expect(200, 'GET', `${base}/binaries`)) as unknown as Binary[];
    t.ok(all.every(({ path, version }) => path.includes('/qemu-system-') && /^\d/.test(version)));
    const { kvm } = await client.expect(200, 'GET', `${base}/capabilities`);
    t.ok(Array.isArray(kvm));
  }
  t.match(await client.get('/v2/computes/elsewhere/qemu/binaries'), { status: 404 });
});

void t.test('a disk is made once, and made larger', { skip }, async (t) => {
  await client.expect(201, 'POST', IMG, { ...qcow2('a.qcow2'), cluster_size: 4096, lazy_refcounts: 'on' });
  t.equal(sizeOf('a.qcow2'), 16 * 1024 * 1024);
  const before = readFileSync(join(folder, 'a.qcow2'));
  t.match(await client.post(IMG, qcow2('a.qcow2')), {
    status: 409,
    body: { code: 'disk_exists', message: "Could not create disk image 'a.qcow2', file already exists" },
  });
  t.same(readFileSync(join(folder, 'a.qcow2')), before);
  const larger = { qemu_img: 'qemu-img', path: 'a.qcow2', extend: 8 };
  await client.expect(201, 'PUT', IMG, larger);
  t.equal(sizeOf('a.qcow2'), 24 * 1024 * 1024);
  t.match(await client.put(IMG, { ...larger, path: 'none' }), {
    status: 409,
    body: { code: 'disk_unknown', message: "Qemu disk 'none' does not exist" },
  });
  await client.expect(201, 'POST', IMG, { ...qcow2('a.vmdk'), format: 'vmdk', adapter_type: 'lsilogic' });
  t.match(await client.post(IMG, { ...qcow2('b'), cluster_size: 3 }), {
    status: 409,
    body: { code: 'disk_failed', message: /luster size/ },
  });
  t.same(
    readdirSync(folder)
      .filter((name) => !name.endsWith('.md5sum'))
      .sort(),
    ['a.qcow2', 'a.vmdk'],
  );
});

void t.test('a disk lies in the folder of images, whatever its path says', { skip }, async (t) => {
  const outside = scratchFolder(t);
  for (const path of ['../../up.qcow2', 'x/y/deep.qcow2', '..\\back.qcow2'])
    await client.expect(201, 'POST', IMG, qcow2(path));
  for (const name of ['up.qcow2', 'deep.qcow2', 'back.qcow2']) t.ok(existsSync(join(folder, name)), name);
  await client.expect(201, 'POST', IMG, qcow2(join(folder, 'own.qcow2')));
  for (const path of [join(outside, 'x.qcow2'), join(folder, '..', 'x.qcow2'), '/etc/x'])
    t.match(await client.post(IMG, qcow2(path)), { status: 403, body: { code: 'image_outside' } }, path);
  for (const path of ['.x', '..', 'x.md5sum', 'x.tmp', 'a/'])
    t.match(await client.post(IMG, qcow2(path)), { status: /40[03]/ }, path);
  symlinkSync(join(outside, 'there'), join(folder, 'link'));
  t.match(await client.post(IMG, qcow2('link')), { status: 409, body: { code: 'disk_exists' } });
  t.same(readdirSync(outside), []);
  writeFileSync(join(outside, 'there'), 'x');
  const larger = { qemu_img: 'qemu-img', path: 'link', extend: 1 };
  t.match(await client.put(IMG, larger), { status: 403 });
  t.equal(readFileSync(join(outside, 'there'), 'latin1'), 'x');
});

void t.test('no other program is started, and no disk of several files is made', { skip }, async (t) => {
  const folderOfClient = scratchFolder(t);
  mkdirSync(join(folderOfClient, 'bin'));
  const ran = join(folderOfClient, 'ran');
  const program = join(folderOfClient, 'bin', 'qemu-img');
  writeFileSync(program, `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
  await client.expect(201, 'POST', IMG, { ...qcow2('mine.qcow2'), qemu_img: program });
  t.notOk(existsSync(ran), 'the name is all that counts');
  for (const name of ['/bin/sh', 'qemu-img;x', ''])
    t.match(await client.post(IMG, { ...qcow2('n.qcow2'), qemu_img: name }), { status: /400|409/ }, name);
  for (const subformat of ['twoGbMaxExtentSparse', 'twoGbMaxExtentFlat', 'monolithicFlat'])
    t.match(await client.post(IMG, { ...qcow2('v'), format: 'vmdk', subformat }), {
      status: 409,
      body: { code: 'disk_refused' },
    });
  const planted = '# Disk DescriptorFile\nversion=1\nRW 8 FLAT "/etc/passwd" 0\n';
  writeFileSync(join(folder, 'planted.vmdk'), planted);
  t.match(await client.put(IMG, { qemu_img: 'qemu-img', path: 'planted.vmdk', extend: 1 }), {
    status: 409,
    body: { code: 'disk_refused' },
  });
  for (const wrong of [
    { size: 0 },
    { size: 1e12 },
    { format: 'qed' },
    { preallocation: 'x,backing_file=/etc/passwd' },
  ])
    t.match(await client.post(IMG, { ...qcow2('n.qcow2'), ...wrong }), { status: 400 });
});

void t.test('the controller has disks made and grown by the compute', { skip }, async (t) => {
  const path = '/v2/computes/local/qemu/img';
  t.match(await client.post(path, qcow2('forwarded.qcow2')), { status: 200, body: {} });
  t.equal(sizeOf('forwarded.qcow2'), 16 * 2 ** 20);
  const larger = { qemu_img: '/usr/bin/qemu-img', path: 'forwarded.qcow2', extend: 8 };
  t.match(await client.put(path, larger), { status: 200, body: {} });
  t.equal(sizeOf('forwarded.qcow2'), 24 * 2 ** 20);
  t.match(await client.post('/v2/computes/nowhere/qemu/img', qcow2('x.qcow2')), { status: 404 });
});
