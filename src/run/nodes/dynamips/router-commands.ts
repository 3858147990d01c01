/** The commands that make a Dynamips router of the properties of a node, in the order in which Dynamips takes them. */
import { configPath, type ConfigName } from '../../../lab/kinds/dynamips-files.js';
import { PLATFORMS } from '../../../lab/kinds/dynamips-platforms.js';
import { SLOT_KEYS, WIC_KEYS } from '../../../lab/kinds/dynamips-slots.js';
import type { Properties } from '../../../lab/kinds/node-kind.js';

/** A command and its arguments, of which texts are quoted. */
export type RouterCommand = readonly [command: string, ...args: (string | number)[]];

interface RouterPlan {
  /** The name of the router in its Dynamips process. */
  readonly name: string;
  readonly number: number;
  readonly properties: Properties;
  readonly image: string;
  readonly consolePort: number | undefined;
  readonly auxPort: number | undefined;
  readonly configs: readonly ConfigName[];
}

/** The ports of an interface card begin at 16 in the first of its slots, and 16 later in each further one. */
const PORTS_OF_WIC_SLOT = 16;
/** Dynamips installs the main boards itself; that of this platform can be chosen. */
const CHOOSES_BOARD = 'c7200';

export function routerCommands(plan: RouterPlan): RouterCommand[] {
  const { name, number, image, consolePort, auxPort, properties, configs } = plan;
  const platform = textOf(properties['platform']);
  const set = (command: string, key: string): RouterCommand[] => {
    const value = properties[key];
    return typeof value === 'number' || typeof value === 'boolean' ? [[command, name, Number(value)]] : [];
  };
  const say = (command: string, key: string): RouterCommand[] => {
    const value = textOf(properties[key]);
    return value === '' ? [] : [[command, name, value]];
  };
  const has = (key: string): boolean => configs.some((config) => config === key);
  return [
    ['vm create', name, number, platform],
    ...say(`${platform} set_chassis`, 'chassis'),
    ...say(`${platform} set_npe`, 'npe'),
    ...say(`${platform} set_midplane`, 'midplane'),
    ...numbered(`${platform} set_temp_sensor`, name, properties['sensors']),
    ...numbered(`${platform} set_power_supply`, name, properties['power_supplies']),
    ...set(`${platform} set_iomem`, 'iomem'),
    ...say(`${platform} set_mac_addr`, 'mac_addr'),
    ...say(`${platform} set_system_id`, 'system_id'),
    ...(consolePort === undefined ? [] : [['vm set_con_tcp_port', name, consolePort] as const]),
    ...(auxPort === undefined ? [] : [['vm set_aux_tcp_port', name, auxPort] as const]),
    ['vm set_ios', name, image],
    ...set('vm set_ram', 'ram'),
    ...set('vm set_nvram', 'nvram'),
    ...set('vm set_ram_mmap', 'mmap'),
    ...set('vm set_sparse_mem', 'sparsemem'),
    ...set('vm set_clock_divisor', 'clock_divisor'),
    ...set('vm set_exec_area', 'exec_area'),
    ...set('vm set_disk0', 'disk0'),
    ...set('vm set_disk1', 'disk1'),
    ...say('vm set_idle_pc', 'idlepc'),
    ...cards(name, platform, properties),
    ...(configs.length === 0
      ? []
      : [
          [
            'vm set_config',
            name,
            has('startup') ? configPath(number, 'startup') : '',
            has('private') ? configPath(number, 'private') : '',
          ] as const,
        ]),
  ];
}

/** The settings of a processor, which a router has only while it runs. */
export function idleCommands(name: string, properties: Properties): RouterCommand[] {
  const idlePc = textOf(properties['idlepc']);
  const commands: RouterCommand[] = [['vm set_idle_pc_online', name, 0, idlePc === '' ? '0x0' : idlePc]];
  for (const [command, key] of [
    ['vm set_idle_max', 'idlemax'],
    ['vm set_idle_sleep_time', 'idlesleep'],
  ] as const) {
    const value = properties[key];
    if (typeof value === 'number') commands.push([command, name, 0, value]);
  }
  return commands;
}

function cards(name: string, platform: string, properties: Properties): RouterCommand[] {
  const slots = PLATFORMS.get(platform)?.slots(
    textOf(properties['chassis']) || undefined,
    textOf(properties['npe']) || undefined,
  );
  const commands: RouterCommand[] = [];
  for (const [slot, key] of SLOT_KEYS.entries()) {
    const card = textOf(properties[key]);
    const isBoard = slots?.[slot]?.isFixed === true && platform !== CHOOSES_BOARD;
    if (card !== '' && !isBoard) commands.push(['vm slot_add_binding', name, slot, 0, card]);
  }
  for (const [slot, key] of WIC_KEYS.entries()) {
    const card = textOf(properties[key]);
    if (card !== '') commands.push(['vm slot_add_binding', name, 0, PORTS_OF_WIC_SLOT * (slot + 1), card]);
  }
  return commands;
}

function numbered(command: string, name: string, values: unknown): RouterCommand[] {
  return Array.isArray(values)
    ? values.map((value: unknown, index): RouterCommand => [command, name, index, Number(value)])
    : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
