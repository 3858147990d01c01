/** Project folders as GNS3 2.2 writes them, with nodes of all the kinds that it has. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asReferenceWrites } from './gns3-schema.js';

export type Json = Record<string, unknown>;

const LABEL_STYLE =
  'font-family: TypeWriter;font-size: 10.0;font-weight: bold;fill: #000000;fill-opacity: 1.0;';

/** The properties that the reference stores for a node of each kind, where kinds differ. */
const KINDS: Readonly<Record<string, Json>> = {
  atm_switch: { console: null, properties: { mappings: { '1:0:100': '10:0:200', '1:10': '2:20' } } },
  cloud: {
    console: null,
    properties: {
      interfaces: [{ name: 'eth0', special: false, type: 'ethernet' }],
      ports_mapping: [{ interface: 'eth0', name: 'eth0', port_number: 0, type: 'ethernet' }],
      remote_console_host: '',
      remote_console_http_path: '/',
      remote_console_port: 23,
      remote_console_type: 'none',
    },
    symbol: ':/symbols/cloud.svg',
  },
  docker: {
    console_type: 'telnet',
    properties: {
      adapters: 2,
      aux: 5007,
      container_id: 'f3a4b6c3c2d1',
      environment: null,
      extra_hosts: null,
      extra_volumes: [],
      image: 'alpine:latest',
      start_command: null,
      usage: '',
    },
    symbol: ':/symbols/docker_guest.svg',
  },
  dynamips: {
    console_type: 'telnet',
    properties: {
      auto_delete_disks: true,
      dynamips_id: 1,
      image: 'c7200-adventerprisek9-mz.124-24.T5.image',
      image_md5sum: '6b89d0d804e1f2bb5b8bda66b5692047',
      mac_addr: 'ca01.0c4f.0000',
      midplane: 'vxr',
      npe: 'npe-400',
      nvram: 512,
      platform: 'c7200',
      ram: 512,
      slot0: 'C7200-IO-FE',
      slot1: 'PA-A1',
      slot2: 'PA-4T+',
      system_id: 'FTX0945W0MY',
    },
    symbol: ':/symbols/router.svg',
  },
  ethernet_hub: { console: null, properties: { ports_mapping: portsMapping(false) } },
  ethernet_switch: { console_type: 'none', properties: { ports_mapping: portsMapping(true) } },
  frame_relay_switch: { console: null, properties: { mappings: { '1:101': '10:202' } } },
  iou: {
    console_type: 'telnet',
    port_name_format: 'Ethernet{segment0}/{port0}',
    port_segment_size: 4,
    properties: {
      application_id: 1,
      ethernet_adapters: 2,
      md5sum: '',
      path: 'i86bi.bin',
      ram: 256,
      serial_adapters: 2,
    },
  },
  nat: {
    console: null,
    properties: { ports_mapping: [{ interface: 'virbr0', name: 'nat0', port_number: 0, type: 'ethernet' }] },
    symbol: ':/symbols/cloud.svg',
  },
  qemu: {
    console_type: 'vnc',
    custom_adapters: [
      { adapter_number: 0, adapter_type: 'virtio-net-pci', mac_address: '0c:f0:32:4e:00:07' },
    ],
    first_port_name: 'Management0',
    properties: {
      adapter_type: 'e1000',
      adapters: 2,
      hda_disk_image: 'debian.qcow2',
      hda_disk_image_md5sum: null,
      mac_address: '0c:f0:32:4e:00:00',
      platform: 'x86_64',
      qemu_path: '/usr/bin/qemu-system-x86_64',
      ram: 256,
    },
    symbol: ':/symbols/qemu_guest.svg',
  },
  vpcs: { console_type: 'telnet', properties: {}, symbol: ':/symbols/vpcs_guest.svg' },
};

export type Gns3Node = Json & {
  readonly node_id: string;
  readonly name: string;
  readonly node_type: string;
  readonly compute_id: string;
};

/** The 21 keys of a stored node. */
export function gns3Node(nodeType: string, changes: Json = {}): Gns3Node {
  const name = `${nodeType}-1`;
  const node = {
    compute_id: 'local',
    console: 5000,
    console_auto_start: false,
    console_type: 'none',
    custom_adapters: [],
    first_port_name: null,
    height: 59,
    label: {
      rotation: 0,
      style: LABEL_STYLE,
      text: typeof changes['name'] === 'string' ? changes['name'] : name,
      x: 3,
      y: -25,
    },
    locked: false,
    name,
    node_id: randomUUID(),
    node_type: nodeType,
    port_name_format: 'Ethernet{0}',
    port_segment_size: 0,
    symbol: ':/symbols/computer.svg',
    template_id: null,
    width: 65,
    x: -100,
    y: 20,
    z: 1,
    ...KINDS[nodeType],
    ...changes,
  };
  return node;
}

export interface Gns3End {
  readonly node: { readonly node_id: string };
  readonly adapter?: number;
  readonly port?: number;
}

export function gns3Link(first: Gns3End, second: Gns3End, changes: Json = {}): Json & { link_id: string } {
  return {
    filters: {},
    link_id: randomUUID(),
    link_style: {},
    nodes: [first, second].map(({ node, adapter = 0, port = 0 }) => ({
      adapter_number: adapter,
      label: { rotation: 0, style: LABEL_STYLE, text: `${adapter}/${port}`, x: 40, y: 20 },
      node_id: node.node_id,
      port_number: port,
    })),
    suspend: false,
    ...changes,
  };
}

export function gns3Drawing(changes: Json = {}): Json & { drawing_id: string } {
  return {
    drawing_id: randomUUID(),
    locked: false,
    rotation: 0,
    svg: '<svg height="20" width="20"><rect height="20" width="20" /></svg>',
    x: 5,
    y: 6,
    z: 1,
    ...changes,
  };
}

export interface Gns3Content {
  readonly nodes?: readonly Json[];
  readonly links?: readonly Json[];
  readonly drawings?: readonly Json[];
  readonly computes?: readonly Json[];
  /** Further keys of the file's top level; undefined removes one. */
  readonly head?: Json;
}

export interface Gns3Folder {
  readonly id: string;
  readonly folder: string;
  readonly path: string;
  readonly text: string;
}

export function gns3Text(id: string, name: string, content: Gns3Content = {}): string {
  const { nodes = [], links = [], drawings = [], computes = [], head = {} } = content;
  return asReferenceWrites({
    auto_close: true,
    auto_open: false,
    auto_start: false,
    drawing_grid_size: 25,
    grid_size: 75,
    name,
    project_id: id,
    revision: 9,
    scene_height: 1000,
    scene_width: 2000,
    show_grid: false,
    show_interface_labels: false,
    show_layers: false,
    snap_to_grid: false,
    supplier: null,
    topology: { computes, drawings, links, nodes },
    type: 'topology',
    variables: null,
    version: '2.2.54',
    zoom: 100,
    ...head,
  });
}

/** Puts a folder with a topology file into a projects folder. */
export function placeGns3Project(
  projects: string,
  name: string,
  content: Gns3Content = {},
  id: string = randomUUID(),
  folderName = id,
): Gns3Folder {
  const folder = join(projects, folderName);
  mkdirSync(join(folder, 'project-files', 'captures'), { recursive: true });
  const path = join(folder, `${name}.gns3`);
  const text = gns3Text(id, name, content);
  writeFileSync(path, text);
  return { id, folder, path, text };
}

function portsMapping(isSwitch: boolean): Json[] {
  return Array.from({ length: 8 }, (_, index) => ({
    name: `Ethernet${index}`,
    port_number: index,
    ...(isSwitch ? { type: 'access', vlan: 1 } : {}),
  }));
}
