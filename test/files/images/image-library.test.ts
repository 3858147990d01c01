import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ImageLibrary } from '../../../src/files/images/image-library.js';
import { FakeStore } from '../../support/fake-store.js';
import { ImageDisk } from '../../support/image-disk.js';
import { scratchFolder } from '../../support/scratch.js';

interface Rig {
  readonly images: ImageLibrary;
  readonly folder: string;
  readonly secret: string;
}

/** A library with one QEMU image, and a file beside its folder. */
function libraryOf(t: Test, allowsAnyPath: boolean): Rig {
  const root = scratchFolder(t);
  const folder = join(root, 'images');
  mkdirSync(join(folder, 'QEMU', 'sub'), { recursive: true });
  writeFileSync(join(folder, 'QEMU', 'sub', 'disk.img'), 'content');
  const secret = join(root, 'secret');
  writeFileSync(secret, 'content');
  const projects = { all: new Map() };
  const images = new ImageLibrary({
    folder,
    temporary: root,
    disk: new ImageDisk(),
    store: new FakeStore(),
    projects,
    allowsAnyPath,
  });
  return { images, folder, secret };
}

void t.test('a node names an image by its name, or by its path in the images folder', async (t) => {
  const { images, folder } = libraryOf(t, false);
  const path = join(folder, 'QEMU/sub/disk.img');
  for (const named of ['disk.img', 'sub/disk.img', path]) t.equal(await images.pathOf('qemu', named), path);
  const missing = { status: 409, code: 'image_missing' };
  await t.rejects(images.pathOf('qemu', 'other.img'), missing);
  await t.rejects(images.pathOf('qemu', join(folder, 'QEMU/other.img')), missing);
  await t.rejects(images.pathOf('qemu', join(folder, 'QEMU')), missing, 'a folder is no image');
});

void t.test('a path outside of the images folder is refused, unless any path is allowed', async (t) => {
  const { images, folder, secret } = libraryOf(t, false);
  for (const named of [secret, `${folder}/../secret`, folder, `${folder}-other/x`, '/etc/passwd'])
    await t.rejects(images.pathOf('qemu', named), { status: 409, code: 'image_not_allowed' }, named);
  await t.rejects(images.pathOf('qemu', '../secret'), { status: 403, code: 'image_outside' });
  const local = libraryOf(t, true);
  t.equal(await local.images.pathOf('qemu', local.secret), local.secret);
  await t.rejects(local.images.pathOf('qemu', `${local.secret}-other`), { code: 'image_missing' });
});
