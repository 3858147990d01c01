import t from 'tap';
import type { Emulator } from '../../../src/files/images/image-name.js';
import { findImageUse, usesImage, type UsingProject } from '../../../src/files/images/image-use.js';
import { gns3Node, type Json } from '../../support/gns3-project.js';

const NAMES = ['sub/x.img', '/images/QEMU/sub/x.img', 'x.img'];

type Node = Parameters<typeof usesImage>[0];

function uses(type: string, properties: Json, emulator: Emulator): boolean {
  return usesImage({ node_type: type, properties } as Node, emulator, NAMES);
}

void t.test('every property that names an image counts, by each of its names', (t) => {
  for (const key of [
    'hda_disk_image',
    'hdb_disk_image',
    'hdc_disk_image',
    'hdd_disk_image',
    'cdrom_image',
    'kernel_image',
    'bios_image',
    'initrd',
  ]) {
    for (const name of [...NAMES, 'sub\\x.img'])
      t.ok(uses('qemu', { [key]: name }, 'qemu'), `${key} ${name}`);
  }
  t.ok(uses('iou', { path: 'x.img' }, 'iou'));
  t.ok(uses('dynamips', { image: 'x.img' }, 'dynamips'));
  t.end();
});

void t.test('other properties, names and emulators do not', (t) => {
  for (const properties of [
    { hda_disk_image: 'other/x.img' },
    { hda_disk_image: 'X.img' },
    { hda_disk_image: '' },
    { hda_disk_image: 5 },
    { hda_disk_image_md5sum: 'x.img' },
    { kernel_command_line: 'x.img' },
    { path: 'x.img' },
    { image: 'x.img' },
    {},
  ])
    t.notOk(uses('qemu', properties, 'qemu'), JSON.stringify(properties));
  t.notOk(uses('qemu', { hda_disk_image: 'x.img' }, 'iou'));
  t.notOk(uses('docker', { image: 'x.img' }, 'dynamips'));
  t.notOk(usesImage({ node_type: 'qemu' }, 'qemu', NAMES));
  t.end();
});

void t.test('open projects are asked for what they hold, closed ones for what is stored', async (t) => {
  const named = (name: string): Json => gns3Node('qemu', { name, properties: { initrd: name } });
  const project = (isOpen: boolean, name: string): UsingProject => {
    const shape: unknown = {
      isOpen,
      name,
      get topology() {
        if (!isOpen) throw new Error('it is closed');
        return { nodes: new Map([['1', named('open.img')]]) };
      },
      storedRecords: () =>
        Promise.resolve({ entities: { node: [{ order: 0, object: named('closed.img') }] } }),
    };
    return shape as UsingProject;
  };
  const unknown: unknown = { isOpen: false, name: 'gone', storedRecords: () => Promise.resolve(undefined) };
  const projects = [unknown as UsingProject, project(true, 'first'), project(false, 'second')];
  const find = (name: string): ReturnType<typeof findImageUse> => findImageUse(projects, 'qemu', [name]);
  t.same(await find('open.img'), { node: 'open.img', project: 'first' });
  t.same(await find('closed.img'), { node: 'closed.img', project: 'second' });
  t.equal(await find('none.img'), undefined);
});
