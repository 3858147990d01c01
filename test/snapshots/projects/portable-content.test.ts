/** The content of a project in an archive for others. */
import t from 'tap';
import { projectSettings, type StoredNode } from '../../../src/lab/gns3-file/topology-schema.js';
import type { LabContent } from '../../../src/snapshots/lab-content.js';
import {
  imagesNamed,
  portableContent,
  withoutAddresses,
} from '../../../src/snapshots/projects/portable-content.js';
import { gns3Node, type Json } from '../../support/gns3-project.js';

const node = (type: string, properties: Json): StoredNode =>
  gns3Node(type, { compute_id: 'far', properties }) as unknown as StoredNode;

const content: LabContent = {
  settings: projectSettings.parse({ name: 'a' }),
  computes: [{ compute_id: 'far' }],
  nodes: [
    node('qemu', {
      hda_disk_image: 'C:\\images\\a.qcow2',
      initrd: '/x/b',
      hdb_disk_image: '',
      mac_address: 'm',
    }),
    node('docker', { image: 'registry/alpine:latest', mac_address: null }),
    node('iou', { path: '/opt/i.bin' }),
    node('dynamips', { image: 'c7200.image', image_md5sum: 'a/b', mac_addr: 'n' }),
    node('ethernet_switch', { image: 'a/b', path: 'a/b' }),
  ],
  links: [],
  drawings: [],
  directed: [],
};

void t.test('portable content has nothing of the host', (t) => {
  const { computes, nodes } = portableContent(content);
  t.same(computes, []);
  t.same(new Set(nodes.map(({ compute_id: id }) => id)), new Set(['local']));
  t.same(
    nodes.map(({ properties }) => properties),
    [
      { hda_disk_image: 'a.qcow2', initrd: 'b', hdb_disk_image: '', mac_address: 'm' },
      { image: 'registry/alpine:latest', mac_address: null },
      { path: 'i.bin' },
      { image: 'c7200.image', image_md5sum: 'a/b', mac_addr: 'n' },
      { image: 'a/b', path: 'a/b' },
    ],
  );
  t.end();
});

void t.test('each named image is listed once', (t) => {
  const twice = { ...content, nodes: [...content.nodes, ...content.nodes] };
  t.same(imagesNamed(twice), [
    { emulator: 'qemu', name: 'C:\\images\\a.qcow2' },
    { emulator: 'qemu', name: '/x/b' },
    { emulator: 'iou', name: '/opt/i.bin' },
    { emulator: 'dynamips', name: 'c7200.image' },
  ]);
  t.end();
});

void t.test('addresses are removed from the nodes that have some', (t) => {
  const { nodes } = withoutAddresses(content);
  t.match(nodes[0]?.properties, { mac_address: null });
  t.match(nodes[3]?.properties, { mac_addr: null });
  t.notOk('mac_address' in (nodes[2]?.properties ?? {}));
  t.end();
});
