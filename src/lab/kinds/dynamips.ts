/** Cisco routers that Dynamips emulates. */
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import { CARDS, PLATFORM_NAMES, PLATFORMS, WICS, type Platform } from './dynamips-platforms.js';
import {
  cardPorts,
  isHotPlug,
  platformOfRouter,
  SLOT_KEYS,
  slotEntries,
  WIC_KEYS,
} from './dynamips-slots.js';
import { imageDigest, longText, routerConfigs, tcpPort, withoutKeys, withValue, word } from './fields.js';
import { machineLoad } from './machine-load.js';
import type { ProgramKind, Properties } from './node-kind.js';
import { configPath, CONFIGS, hostname } from './dynamips-files.js';
import { pairsOfId } from './mac-addresses.js';
import { consoleSettings, fileName, routerDefaults, templateSettings } from './template.js';
import { ETHERNET_CAPTURE } from './port-types.js';

const CONSOLE_TYPES = ['telnet', 'none'] as const;
const LARGEST_ID = 4096;
/** The ports of interface cards in slot 0 have numbers up to 49. */
const PORTS_OF_SLOT = 64;
/** Megabytes of memory and of disks, and kilobytes of NVRAM. */
const LARGEST_SIZE = 65_536;
const LARGEST_COUNT = 1_000_000;
/** Settings that only some platforms have. */
const SPECIAL = ['chassis', 'iomem', 'midplane', 'npe', 'power_supplies', 'sensors'] as const;
/** The settings of a router that Dynamips would not take for another one. */
const FIXED = ['dynamips_id', 'platform'];

/** Names go to Dynamips in quotes, on one line. */
const quotable = z.string().regex(/^[^"\p{Cc}]*$/u, 'must not contain quotes or control characters');
const image = quotable.min(1).max(4096);
const size = z.int().min(0).max(LARGEST_SIZE);
const count = z.int().min(0).max(LARGEST_COUNT);
const divisor = z.int().min(1).max(LARGEST_COUNT);
const memory = z.int().min(1).max(LARGEST_SIZE);
const idlePc = z
  .string()
  .max(18)
  .regex(/^(0x[0-9a-fA-F]+)?$/, 'must be an address, as in 0x60608040');
const ciscoAddress = z
  .string()
  .regex(
    /^([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}$/,
    'must be a MAC address in three parts, as in ca01.0c4f.0000',
  );
const systemId = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[!#-~]+$/, 'must be one word');
const chassis = z.string().regex(/^[0-9]{4}(XM)?$/, 'must be the number of a chassis');
const npe = z.enum(['npe-100', 'npe-150', 'npe-175', 'npe-200', 'npe-225', 'npe-300', 'npe-400', 'npe-g2']);
const iomem = z.int().min(0).max(100);
const sensors = z.array(z.int().min(-100).max(1000)).length(4);
const powerSupplies = z.array(z.int().min(0).max(1)).length(2);

/** The settings that nodes and templates have alike. */
const common = {
  auto_delete_disks: z.boolean(),
  chassis,
  disk0: size,
  disk1: size,
  exec_area: divisor,
  idlemax: count,
  idlepc: idlePc,
  idlesleep: count,
  image,
  iomem,
  midplane: z.enum(['std', 'vxr']),
  mmap: z.boolean(),
  npe,
  nvram: memory,
  ram: memory,
  sparsemem: z.boolean(),
  system_id: systemId,
  usage: longText,
};

const cards = Object.fromEntries([...SLOT_KEYS, ...WIC_KEYS].map((key) => [key, word.nullable()]));
const shownCards = Object.fromEntries(
  [...SLOT_KEYS, ...WIC_KEYS].map((key) => [key, z.string().nullable().optional()]),
);
const templateCards = {
  ...Object.fromEntries(SLOT_KEYS.map((key) => [key, z.enum([...CARDS.keys(), ''])])),
  ...Object.fromEntries(WIC_KEYS.map((key) => [key, z.enum([...WICS.keys(), ''])])),
};

const properties = z
  .strictObject({
    ...common,
    ...cards,
    aux: tcpPort.nullable(),
    clock_divisor: divisor,
    dynamips_id: z.int().min(1).max(LARGEST_ID).nullable(),
    image_md5sum: imageDigest,
    mac_addr: ciscoAddress.nullable(),
    platform: z.enum(PLATFORM_NAMES),
    power_supplies: powerSupplies,
    sensors,
  })
  .partial();

const shownProperties = {
  ...z.object({ ...common, power_supplies: powerSupplies, sensors }).partial().shape,
  ...shownCards,
  aux: tcpPort.nullable(),
  clock_divisor: z.int(),
  /** Null until the router has got one. */
  dynamips_id: z.int().nullable(),
  image_md5sum: imageDigest,
  /** Empty until Dynamips has told it. */
  mac_addr: z.string().nullable(),
  platform: z.enum(PLATFORM_NAMES),
};

/** The settings of which all platforms have the same default, in nodes and in templates. */
const DEFAULTS = {
  auto_delete_disks: false,
  disk1: 0,
  exec_area: 64,
  idlemax: 500,
  idlepc: '',
  idlesleep: 30,
  mmap: true,
  system_id: 'FTX0945W0MY',
  usage: '',
};

/** The entries that a client has given. In the entry of a slot null takes the card out; elsewhere it means nothing. */
function settingsOf(given: Properties): Properties {
  const taken = [...SLOT_KEYS, ...WIC_KEYS]
    .filter((key) => given[key] === null)
    .map((key): [string, null] => [key, null]);
  return withoutKeys({ ...withValue(given), ...Object.fromEntries(taken) }, ['image_md5sum']);
}

/** Says which of the settings the platform does not have, or does not have with this value. */
function faultOf(platform: Platform, name: string, settings: Properties): string | undefined {
  const foreign = SPECIAL.find((key) => settings[key] !== undefined && !platform.special.includes(key));
  if (foreign !== undefined) return `${name} routers do not have ${foreign}`;
  const chosen = settings['chassis'];
  if (typeof chosen !== 'string' || platform.chassis.includes(chosen)) return undefined;
  return `${name} routers do not have the chassis ${chosen}`;
}

function checkSettings(platform: Platform, name: string, settings: Properties): void {
  const fault = faultOf(platform, name, settings);
  if (fault !== undefined) throw refusals.propertyConflict(fault);
}

/** The first byte of the addresses that Dynamips gives to the routers of a platform. */
const ADDRESS_STARTS: Readonly<Record<string, string>> = {
  c1700: 'd0',
  c2600: 'c8',
  c2691: 'c0',
  c3600: 'cc',
  c3725: 'c2',
  c3745: 'c4',
  c7200: 'ca',
};

/** The address of the chassis, from which those of the ports follow: the last two bytes are theirs. */
export function defaultAddress(platform: string, nodeId: string): string {
  const digits = pairsOfId(nodeId).replaceAll(':', '');
  return `${ADDRESS_STARTS[platform] ?? 'ca'}${digits.slice(0, 2)}.${digits.slice(2)}.0000`;
}

export const dynamips: ProgramKind & { readonly type: 'dynamips' } = {
  type: 'dynamips',
  title: 'a Dynamips router',
  alwaysRuns: false,
  imageProperties: ['image'],
  keepsContentElsewhere: false,
  load: machineLoad,
  properties,
  shownProperties,
  consoleTypes: CONSOLE_TYPES,
  creation: routerConfigs,
  uniqueProperties: ['aux', 'dynamips_id', 'mac_addr'],
  projectNumber: { property: 'dynamips_id', last: LARGEST_ID },
  fixedWhileRunning: {
    name: true,
    properties: {
      aux: 'auxiliary console',
      ...Object.fromEntries([...SLOT_KEYS, ...WIC_KEYS].map((key) => [key, `card in ${key}`])),
      chassis: 'chassis',
      dynamips_id: 'number',
    },
    except: isHotPlug,
  },
  portsOfAdapter: PORTS_OF_SLOT,
  template: {
    required: ['platform', 'image'],
    settings: templateSettings({
      ...consoleSettings(CONSOLE_TYPES),
      ...z
        .object({
          ...common,
          ...templateCards,
          mac_addr: z.union([ciscoAddress, z.literal('')]),
          platform: z.enum(PLATFORM_NAMES),
          private_config: fileName,
          startup_config: fileName,
        })
        .partial().shape,
    }),
    defaults: {
      ...DEFAULTS,
      ...routerDefaults,
      default_name_format: 'R{0}',
      disk0: 0,
      mac_addr: '',
      startup_config: 'ios_base_startup-config.txt',
      symbol: ':/symbols/router.svg',
    },
    defaultsFor: (given) => platformOfRouter(given)?.templateDefaults ?? {},
    faultIn(settings) {
      const platform = platformOfRouter(settings);
      return platform === undefined ? undefined : faultOf(platform, String(settings['platform']), settings);
    },
  },
  medium: 'ethernet',
  capture: ETHERNET_CAPTURE,
  create(given, nodeId) {
    const settings = settingsOf(given);
    const missing = ['platform', 'image', 'ram'].find((key) => settings[key] === undefined);
    if (missing !== undefined)
      throw refusals.schemaViolated('in properties of dynamips', `${missing} is required`);
    const name = String(settings['platform']);
    const platform = PLATFORMS.get(name);
    if (platform === undefined)
      throw refusals.schemaViolated('in properties of dynamips', `${name} is no platform`);
    checkSettings(platform, name, settings);
    const [chosen] = platform.chassis;
    const complete = {
      ...DEFAULTS,
      ...platform.nodeDefaults,
      aux: null,
      ...(chosen === undefined ? {} : { chassis: chosen }),
      dynamips_id: null,
      image_md5sum: null,
      mac_addr: defaultAddress(name, nodeId),
      ...withoutKeys(settings, [...SLOT_KEYS, ...WIC_KEYS]),
    };
    return { ...complete, ...slotEntries(platform, { ...complete, ...settings }, {}) };
  },
  update(current, given) {
    const settings = settingsOf(given);
    for (const key of FIXED) {
      const [before, wanted] = [current[key], settings[key]];
      if (wanted !== undefined && before !== undefined && before !== null && wanted !== before)
        throw refusals.propertyConflict(`The ${key} of a Dynamips router cannot be changed`);
    }
    const next: Record<string, unknown> = {
      ...current,
      ...withoutKeys(settings, [...SLOT_KEYS, ...WIC_KEYS]),
    };
    if (next['image'] !== current['image']) next['image_md5sum'] = null;
    const platform = platformOfRouter(next);
    if (platform === undefined) return next;
    checkSettings(platform, String(next['platform']), settings);
    const others = withoutKeys(next, [...SLOT_KEYS, ...WIC_KEYS]);
    return { ...others, ...slotEntries(platform, settings, { ...current, ...others }) };
  },
  ports: ({ properties: stored }) => cardPorts(stored),
  firstFiles(name, inputs, { dynamips_id: number }): Readonly<Record<string, string>> {
    if (typeof number !== 'number') return {};
    const files: [string, string][] = [];
    for (const config of CONFIGS) {
      const content = inputs[`${config}_config_content`];
      if (typeof content !== 'string' || content === '') continue;
      const named = content.replaceAll('%h', () => hostname(name));
      files.push([configPath(number, config), named]);
    }
    return Object.fromEntries(files);
  },
};
