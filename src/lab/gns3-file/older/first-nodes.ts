/** Nodes of GNS3 1, whose types were the names of its classes. Pure. */
import { z } from 'zod';
import { refusals } from '../../../base/errors/errors.js';
import { PLATFORMS } from '../../kinds/dynamips-platforms.js';
import { openObject } from '../topology-schema.js';
import { convertedCloud } from './first-clouds.js';
import { firstPort, number, word, type ConvertedPort, type FirstPort } from './first-ports.js';
import { firstPlace } from './first-shapes.js';

const MOST_PORTS = 4096;

/** GNS3 before 1.3 had a name for the id in each module. */
const earlierId = {
  router_id: word.optional(),
  vpcs_id: word.optional(),
  qemu_id: word.optional(),
  iou_id: word.optional(),
  vbox_id: word.optional(),
};

export const firstNode = z
  .object({
    id: number,
    type: word.optional(),
    vm_id: word.nullish(),
    device_id: word.nullish(),
    ...earlierId,
    server_id: number.optional(),
    dynamips_id: z.int().optional(),
    label: z
      .object({
        text: z.string().max(65_536),
        font: word.optional(),
        color: word.optional(),
        x: firstPlace.default(0),
        y: firstPlace.default(0),
      })
      .optional(),
    symbol: z.string().max(4096).nullish(),
    default_symbol: z.string().max(4096).optional(),
    linked_clone: z.boolean().optional(),
    port_name_format: word.optional(),
    port_segment_size: z.coerce.number().int().min(0).max(65_535).optional(),
    first_port_name: word.nullish(),
    properties: openObject.default({}),
    ports: z.array(firstPort).max(MOST_PORTS).default([]),
    x: firstPlace,
    y: firstPlace,
    z: firstPlace.default(1),
  })
  .transform(({ router_id, vpcs_id, qemu_id, iou_id, vbox_id, ...node }) => ({
    ...node,
    earlier: { router_id, vpcs_id, qemu_id, iou_id, vbox_id },
  }));
export type FirstNode = z.output<typeof firstNode>;

interface Converted {
  /** The node without its id, name, label and compute. */
  readonly node: Readonly<Record<string, unknown>>;
  readonly ports: readonly ConvertedPort[];
}

/** The settings that a type of node adds to what all have. */
interface Special {
  readonly node_type: string;
  readonly symbol: string | null;
  readonly properties?: object;
  readonly ports?: readonly ConvertedPort[];
  readonly [setting: string]: unknown;
}

const ROUTER = ':/symbols/router.svg';
const MULTILAYER = ':/symbols/multilayer_switch.svg';
/** The virtual machine that GNS3 1.5 had for a way out. */
const INTERNET_MACHINE = '8ebc5a6ec53a1c05b7aa101b5ceefe31';
const NOT_PROPERTIES = ['console', 'name', 'console_type', 'use_ubridge', 'nios'];
const NO_CONSOLE = { console: null, console_type: 'none' };

export function convertedNode(old: FirstNode): Converted {
  const { ports = old.ports.map(samePlace), properties, symbol, ...special } = specialOf(old);
  return {
    node: {
      console: consoleOf(old.properties['console']),
      console_type: old.properties['console_type'] ?? 'telnet',
      port_name_format: old.port_name_format ?? 'Ethernet{0}',
      port_segment_size: old.port_segment_size ?? 0,
      first_port_name: old.first_port_name ?? null,
      ...special,
      symbol: symbolOf(old) ?? symbol,
      properties: special.node_type === 'nat' ? properties : { ...properties, ...propertiesOf(old) },
      x: Math.trunc(old.x),
      y: Math.trunc(old.y),
      z: Math.trunc(old.z),
    },
    ports,
  };
}

function specialOf(old: FirstNode): Special {
  const type = old.type ?? textOf(old.properties['platform']);
  switch (type) {
    case 'VPCSDevice':
      return { node_type: 'vpcs', symbol: ':/symbols/vpcs_guest.svg' };
    case 'QemuVM':
      return old.properties['hda_disk_image_md5sum'] === INTERNET_MACHINE
        ? wayOut(old)
        : { node_type: 'qemu', symbol: ':/symbols/qemu_guest.svg', properties: cloneOf(old) };
    case 'DockerVM':
      return { node_type: 'docker', symbol: ':/symbols/docker_guest.svg' };
    case 'VMwareVM':
      return { node_type: 'vmware', symbol: ':/symbols/vmware_guest.svg', properties: cloneOf(old, false) };
    case 'VirtualBoxVM':
      return { node_type: 'virtualbox', symbol: ':/symbols/vbox_guest.svg', properties: cloneOf(old, false) };
    case 'IOUDevice':
      return {
        node_type: 'iou',
        symbol: textOf(old.properties['path']).includes('l2') ? MULTILAYER : ROUTER,
        port_name_format: old.port_name_format ?? 'Ethernet{segment0}/{port0}',
        port_segment_size: old.port_segment_size ?? 4,
      };
    case 'EthernetHub':
      return {
        node_type: 'ethernet_hub',
        symbol: ':/symbols/hub.svg',
        ...NO_CONSOLE,
        ...listed(old, () => ({})),
      };
    case 'EthernetSwitch':
      return {
        node_type: 'ethernet_switch',
        symbol: ':/symbols/ethernet_switch.svg',
        ...NO_CONSOLE,
        ...listed(old, switchPort),
      };
    case 'ATMSwitch':
      return { node_type: 'atm_switch', symbol: ':/symbols/atm_switch.svg', ...NO_CONSOLE };
    case 'FrameRelaySwitch':
      return { node_type: 'frame_relay_switch', symbol: ':/symbols/frame_relay_switch.svg', ...NO_CONSOLE };
    case 'Cloud':
    case 'Host': {
      const symbol = type === 'Cloud' ? ':/symbols/cloud.svg' : ':/symbols/computer.svg';
      const converted = convertedCloud(old.ports);
      return converted === undefined
        ? wayOut(old)
        : { node_type: 'cloud', symbol, ...NO_CONSOLE, ...converted };
    }
    default:
      return routerOf(old, type);
  }
}

/** Older routers lack their platform or memory: then the type says the platform, whose usual memory they have. */
function routerOf(old: FirstNode, type: string): Special {
  const isSwitch = type.toLowerCase() === 'etherswitchrouter';
  const model = isSwitch ? 'c3725' : type.toLowerCase();
  const given = old.properties['platform'];
  const platform = typeof given === 'string' ? given : model.startsWith('c36') ? 'c3600' : model;
  const known = PLATFORMS.get(platform);
  if (known === undefined || !(isSwitch || /^c\d{4}$/.test(model)))
    throw refusals.topologyInvalid(`a node is of type '${platform}', which is not known`);
  const chassis = /^c36[246]0$/.test(model) ? { chassis: model.slice(1) } : {};
  return {
    node_type: 'dynamips',
    symbol: isSwitch ? MULTILAYER : ROUTER,
    properties: {
      ...(old.dynamips_id === undefined ? {} : { dynamips_id: old.dynamips_id }),
      platform,
      ram: known.templateDefaults['ram'],
      ...(isSwitch ? { slot0: 'GT96100-FE' } : {}),
      ...chassis,
    },
  };
}

/** A node that leads out of the lab: its only port is the first one. */
function wayOut({ ports }: FirstNode): Special {
  return {
    node_type: 'nat',
    symbol: ':/symbols/cloud.svg',
    ...NO_CONSOLE,
    properties: {
      ports_mapping: [{ interface: 'virbr0', name: 'nat0', port_number: 0, type: 'ethernet' }],
    },
    ports: ports.slice(0, 1).map(({ id }) => ({ id, adapter: 0, port: 0 })),
  };
}

/** Ports of switches and hubs counted from 1; they are numbered by their place from 0 on. */
function listed(
  old: FirstNode,
  settings: (port: FirstPort) => object,
): Pick<Required<Special>, 'properties' | 'ports'> {
  return {
    properties: {
      ports_mapping: old.ports.map((port, index) => ({
        name: `Ethernet${index}`,
        port_number: index,
        ...settings(port),
      })),
    },
    ports: old.ports.map(({ id }, index) => ({ id, adapter: 0, port: index })),
  };
}

function switchPort({ type = 'access', vlan = 1, ethertype }: FirstPort): object {
  return { type, vlan, ...(ethertype === undefined ? {} : { ethertype }) };
}

function samePlace({ id, adapter_number: adapter, port_number: port }: FirstPort): ConvertedPort {
  return { id, adapter, port };
}

function cloneOf({ linked_clone: given }: FirstNode, otherwise?: boolean): object {
  const value = given ?? otherwise;
  return value === undefined ? {} : { linked_clone: value };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function consoleOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535 ? value : null;
}

function propertiesOf({ properties }: FirstNode): object {
  return Object.fromEntries(Object.entries(properties).filter(([key]) => !NOT_PROPERTIES.includes(key)));
}

/** GNS3 before 1.4 had a picture for each state of a symbol. */
function symbolOf({ symbol, default_symbol: earlier }: FirstNode): string | undefined {
  const found = symbol ?? earlier?.replace(/\.normal\.svg$/, '.svg');
  return found === undefined || found === '' ? undefined : found;
}
