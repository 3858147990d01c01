import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ImageLibrary } from '../../../src/files/images/image-library.js';
import type { Project } from '../../../src/lab/projects/project.js';
import { FakeStore } from '../../support/fake-store.js';
import { gns3Node } from '../../support/gns3-project.js';
import { ImageDisk } from '../../support/image-disk.js';
import { scratchFolder } from '../../support/scratch.js';

interface Rig {
  readonly images: ImageLibrary;
  readonly folder: string;
  readonly secret: string;
  /** Projects that may use images. */
  readonly projects: Map<string, unknown>;
}

/** A library with one QEMU image, and a file beside its folder. */
function libraryOf(t: Test, allowsAnyPath: boolean): Rig {
  const root = scratchFolder(t);
  const folder = join(root, 'images');
  mkdirSync(join(folder, 'QEMU', 'sub'), { recursive: true });
  writeFileSync(join(folder, 'QEMU', 'sub', 'disk.img'), 'content');
  const secret = join(root, 'secret');
  writeFileSync(secret, 'content');
  const projects = new Map<string, unknown>();
  const images = new ImageLibrary({
    folder,
    temporary: root,
    disk: new ImageDisk(),
    store: new FakeStore(),
    projects: { all: projects as Map<string, Project> },
    allowsAnyPath,
  });
  return { images, folder, secret, projects };
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

void t.test('an image gets another name, unless that is taken or nodes use it', async (t) => {
  const { images, folder, projects } = libraryOf(t, false);
  const at = (name: string): string => join(folder, 'QEMU/sub', name);
  writeFileSync(at('other.img'), 'other');
  await t.rejects(images.rename('qemu', 'disk.img', 'other.img'), { status: 409, code: 'image_exists' });
  t.equal(readFileSync(at('other.img'), 'utf8'), 'other', 'it was not replaced');
  await t.rejects(images.rename('qemu', 'disk.img', 'up/x.img'), { code: 'image_name_refused' });
  await t.rejects(images.rename('qemu', 'disk.img', '../x.img'), { code: 'image_outside' });
  t.equal(await images.rename('qemu', 'disk.img', 'new.img'), 'new.img');
  t.same(readdirSync(join(folder, 'QEMU/sub')).sort(), ['new.img', 'other.img']);
  const nodes = ['R1', 'R2'].map((name) =>
    gns3Node('qemu', { name, properties: { hda_disk_image: 'new.img' } }),
  );
  projects.set('1', { id: '1', name: 'bgp', isOpen: true, topology: { nodes: new Map(nodes.entries()) } });
  await t.rejects(images.rename('qemu', 'new.img', 'newer.img'), {
    status: 409,
    code: 'image_not_renamed',
    message: 'The image new.img was not renamed, because nodes use it: 2 of project bgp',
  });
  t.same(await images.uses('qemu'), new Map([['sub/new.img', new Map([['1', 2]])]]));
});
