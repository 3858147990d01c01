/**
 * The kinds of node as a controller of GNS3 asks a compute for them: what is sent, the keys of the answer, and how each shows
 * that frames cross a link to another host.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Teardown } from './scratch.js';
import { aal5Cells } from './aal5-cells.js';
import { dhcpKind, DISCOVER } from './dhcp.js';
import { IMAGE } from './docker-engine.js';
import { eventually } from './eventually.js';
import { buildIouImage, missingCompiler } from './iou-image.js';
import { frameOf } from './link-lab.js';
import { missingQemu } from './qemu.js';
import { missingDynamips, routerImage } from './router-image.js';
import { scratchFolder } from './scratch.js';
import type { Json, StockController, StockLink, StockNode } from './stock-controller.js';
import { freePort, UdpPeer } from './udp-peer.js';
import { missingVpcs } from './vpcs.js';

export interface ComputeKind {
  readonly kind: string;
  readonly missing: string | false;
  /** The settings of a new node. */
  readonly properties: Json;
  /** The keys of the answers: those of the reference, and the command line of every program. */
  readonly keys: string;
  readonly port: readonly [adapter: number, port: number];
  readonly dataLink: string;
  readonly hasConsole: boolean;
  /** Programs are started and stopped; all others always run. */
  readonly isProgram: boolean;
  /** The controller numbers its nodes itself. */
  readonly numberedBy?: 'application_id';
  readonly startBody?: Json;
  readonly startShows: boolean;
  readonly lineEnd?: string;
  readonly emulator?: 'qemu' | 'iou' | 'dynamips';
  readonly image?: (t: Teardown) => Buffer;
  /** Makes a frame cross the link of a node that runs; resolves when it has arrived. */
  readonly talk: (controller: StockController, node: StockNode, link: StockLink) => Promise<void>;
}

const NODE = 'name node_id project_id status';
const CONSOLE = 'console console_type';
const PROGRAM = `${NODE} ${CONSOLE} node_directory command_line`;
const SWITCH = { missing: false, hasConsole: false, isProgram: false, startShows: false } as const;
const ETHERNET = { dataLink: 'DLT_EN10MB', port: [0, 0] } as const;
const SERIAL_PORTS = [1, 2] as const;

const ethernetPorts = (more: Json = {}): Json[] =>
  [0, 1].map((index) => ({ name: `Ethernet${index}`, port_number: index, ...more }));

/** From the link to a second one, which is at this port. */
function across(port: number, frames: readonly Buffer[]): ComputeKind['talk'] {
  return async (controller, node, link) => {
    const other = await controller.link(node, [0, port]);
    await link.peer.send(link.near, frames);
    await other.peer.receive(frames.length);
    await other.peer.send(other.near, frames);
    await controller.unlink(other);
  };
}

/** The first frame of a kind that the other host hears. */
function heard({ peer }: StockLink, what: string, isWanted: (frame: Buffer) => boolean): Promise<true> {
  return eventually(what, () => peer.received.some(isWanted) || undefined);
}

const isArp = (frame: Buffer): boolean => frame.readUInt16BE(12) === 0x0806;

export const SWITCHES: readonly ComputeKind[] = [
  {
    ...SWITCH,
    ...ETHERNET,
    kind: 'ethernet_hub',
    properties: { ports_mapping: ethernetPorts() },
    keys: `${NODE} ports_mapping`,
    talk: across(1, [frameOf(1)]),
  },
  {
    ...SWITCH,
    ...ETHERNET,
    kind: 'ethernet_switch',
    properties: { console_type: 'none', ports_mapping: ethernetPorts({ type: 'access', vlan: 1 }) },
    keys: `${NODE} ${CONSOLE} ports_mapping`,
    hasConsole: true,
    talk: across(1, [frameOf(1)]),
  },
  {
    ...SWITCH,
    kind: 'frame_relay_switch',
    properties: { mappings: { '1:101': '2:202' } },
    keys: `${NODE} mappings`,
    port: [0, SERIAL_PORTS[0]],
    dataLink: 'DLT_FRELAY',
    talk: across(SERIAL_PORTS[1], [Buffer.from([0x18, 0x51, 1, 2, 3])]),
  },
  {
    ...SWITCH,
    kind: 'atm_switch',
    properties: { mappings: { '1:0:100': '2:0:100' } },
    keys: `${NODE} mappings`,
    port: [0, SERIAL_PORTS[0]],
    dataLink: 'DLT_ATM_RFC1483',
    talk: across(SERIAL_PORTS[1], aal5Cells(0, 100, Buffer.from('aaaa030000000800', 'hex'))),
  },
];

const UDP_ENDS = { lport: await freePort(), rport: await freePort() };

const CLOUD: ComputeKind = {
  ...SWITCH,
  ...ETHERNET,
  kind: 'cloud',
  properties: {
    ports_mapping: [{ type: 'udp', name: 'far', port_number: 0, rhost: '127.0.0.1', ...UDP_ENDS }],
    ...{ remote_console_host: '', remote_console_port: 23, remote_console_type: 'none' },
    remote_console_http_path: '/',
  },
  keys:
    `${NODE} interfaces node_directory ports_mapping remote_console_host remote_console_http_path ` +
    'remote_console_port remote_console_type',
  async talk({ t }, _node, { peer, near }) {
    const far = await UdpPeer.open(t, '127.0.0.1', UDP_ENDS.rport);
    await peer.send(near, [frameOf(1)]);
    await far.receive(1);
    await far.send(UDP_ENDS.lport, [frameOf(2)]);
    await peer.receive(1);
    far.close();
  },
};

const GATEWAY = [192, 168, 122, 1];
const GUEST = { mac: [2, 0, 0, 0, 0, 9], address: [192, 168, 122, 9] };
const WHO_HAS = Buffer.from([
  ...[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ...GUEST.mac, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1],
  ...[...GUEST.mac, ...GUEST.address, 0, 0, 0, 0, 0, 0, ...GATEWAY],
]);

const NAT: ComputeKind = {
  ...SWITCH,
  ...ETHERNET,
  kind: 'nat',
  missing: missingQemu(),
  properties: {},
  keys: `${NODE} ports_mapping`,
  async talk(_controller, _node, link) {
    await eventually('the gateway answers', async () => {
      await link.peer.send(link.near, [WHO_HAS]);
      return link.peer.received.some((frame) => isArp(frame) && frame[21] === 2) || undefined;
    });
  },
};

export const OUTLETS: readonly ComputeKind[] = [CLOUD, NAT];

export const VPCS: ComputeKind = {
  ...ETHERNET,
  kind: 'vpcs',
  missing: missingVpcs(),
  properties: { console_type: 'telnet', startup_script: 'set pcname %h\nip 10.0.0.1/24\n' },
  keys: PROGRAM,
  hasConsole: true,
  isProgram: true,
  startShows: true,
  async talk(controller, node, link) {
    const console = await controller.console(node);
    await console.until(/PC\d+> /);
    console.type('ping 10.0.0.2 -c 1');
    await heard(link, 'the virtual PC asks for a neighbour', isArp);
  },
};

const IOU: ComputeKind = {
  ...ETHERNET,
  kind: 'iou',
  missing: missingCompiler(),
  properties: {
    ...{ console_type: 'telnet', path: 'stock.bin', ethernet_adapters: 1, serial_adapters: 0 },
    ...{ ram: 256, nvram: 128, use_default_iou_values: true, l1_keepalives: false },
    startup_config_content: 'hostname %h\n',
  },
  keys:
    `${PROGRAM} application_id ethernet_adapters l1_keepalives md5sum nvram path ram serial_adapters usage ` +
    'use_default_iou_values',
  hasConsole: true,
  isProgram: true,
  numberedBy: 'application_id',
  startBody: { iourc_content: '[license]\nhost = 0123456789abcdef;\n' },
  startShows: true,
  lineEnd: '\n',
  emulator: 'iou',
  image(t) {
    const file = join(scratchFolder(t), 'stock.bin');
    buildIouImage(t, file);
    return readFileSync(file);
  },
  async talk(controller, node, link) {
    const console = await controller.console(node);
    await console.until(/ready/);
    await console.ask('ip 0/0 10.0.0.1', /ok/);
    console.type('ping 0/0 10.0.0.2');
    await heard(link, 'the router asks for a neighbour', isArp);
  },
};

const QEMU: ComputeKind = {
  ...ETHERNET,
  kind: 'qemu',
  missing: missingQemu(),
  properties: {
    ...{ console_type: 'telnet', adapters: 1, adapter_type: 'e1000', ram: 64, platform: 'x86_64' },
    ...{ boot_priority: 'n', hda_disk_image: 'stock.img', hda_disk_interface: 'ide', linked_clone: true },
    ...{ options: '-machine graphics=off', process_priority: 'normal', on_close: 'power_off' },
  },
  keys: [
    PROGRAM,
    ...['bios_image', 'cdrom_image', 'hda_disk_image', 'hdb_disk_image', 'hdc_disk_image', 'hdd_disk_image']
      .concat(['initrd', 'kernel_image'])
      .flatMap((image) => [image, `${image}_md5sum`]),
    'hda_disk_interface hdb_disk_interface hdc_disk_interface hdd_disk_interface adapter_type adapters',
    'boot_priority cpu_throttling cpus create_config_disk kernel_command_line legacy_networking mac_address',
    'on_close options platform process_priority qemu_path ram replicate_network_connection_state tpm uefi',
    'usage linked_clone',
  ].join(' '),
  hasConsole: true,
  isProgram: true,
  startShows: true,
  emulator: 'qemu',
  image: () => Buffer.alloc(1024 * 1024),
  talk: async (_controller, _node, link) => {
    await heard(link, 'the firmware asks for an address', (frame) => dhcpKind(frame) === DISCOVER);
  },
};

const DYNAMIPS: ComputeKind = {
  ...ETHERNET,
  kind: 'dynamips',
  missing: missingDynamips(),
  properties: {
    ...{
      console_type: 'telnet',
      platform: 'c3600',
      chassis: '3640',
      image: 'stock.image',
      ram: 64,
      nvram: 128,
    },
    ...{ slot0: 'NM-1E', idlepc: '0x8000802c', auto_delete_disks: false },
    startup_config_content: 'hostname %h\n',
  },
  keys:
    `${PROGRAM} aux auto_delete_disks chassis clock_divisor disk0 disk1 dynamips_id exec_area idlemax idlepc ` +
    'idlesleep image image_md5sum iomem mac_addr mmap nvram platform ram slot0 slot1 slot2 slot3 sparsemem ' +
    'system_id usage',
  hasConsole: true,
  isProgram: true,
  startShows: false,
  emulator: 'dynamips',
  image: () => routerImage('router is up\r\n'),
  /** The image of the test never sends: what arrives is seen in the capture. */
  async talk(controller, node, link) {
    await (await controller.console(node)).until(/router is up/);
    await link.peer.send(link.near, [frameOf(1)]);
  },
};

export const PROGRAMS: readonly ComputeKind[] = [VPCS, IOU, QEMU, DYNAMIPS];

export const DOCKER: ComputeKind = {
  ...ETHERNET,
  kind: 'docker',
  missing: false,
  properties: {
    ...{ console_type: 'telnet', image: IMAGE, adapters: 1, start_command: '/bin/sh', extra_volumes: [] },
    ...{ console_resolution: '1024x768', console_http_port: 80, console_http_path: '/' },
  },
  keys:
    `${PROGRAM} adapters aux console_http_path console_http_port console_resolution ` +
    'container_id environment extra_hosts extra_volumes image mac_address start_command usage',
  hasConsole: true,
  isProgram: true,
  startShows: false,
  async talk(controller, node, link) {
    const console = await controller.console(node);
    console.type('ip addr add 10.0.0.1/24 dev eth0; ping -c 1 10.0.0.2');
    await heard(link, 'the container asks for a neighbour', isArp);
  },
};
