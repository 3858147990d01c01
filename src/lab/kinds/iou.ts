/** IOS on Unix: images of IOS that are programs of this host. */
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import { checkPortNames, ethernetPorts } from './adapter-ports.js';
import {
  countOf,
  imageDigest,
  imageName,
  longText,
  routerConfigs,
  withoutKeys,
  withValue,
} from './fields.js';
import { machineLoad } from './machine-load.js';
import type { PortOwner, ProgramKind, Properties } from './node-kind.js';
import { ETHERNET_CAPTURE, portOfType, SERIAL } from './port-types.js';
import type { NodePort } from './port.js';
import { consoleSettings, fileName, routerDefaults, templateSettings } from './template.js';

const CONSOLE_TYPES = ['telnet', 'none'] as const;
const NAMING = { format: 'Ethernet{segment0}/{port0}', segmentSize: 4 };
const PORTS_OF_ADAPTER = 4;
/** Ethernet and serial adapters together: a frame names its adapter in four bits. */
const MOST_ADAPTERS = 16;
const LARGEST_ID = 511;
/** A licence file has a line for each host. */
export const LONGEST_LICENSE = 65_536;
/** Megabytes of memory, and kilobytes of NVRAM. */
const LARGEST_SIZE = 65_536;

const adapters = z.int().min(0).max(MOST_ADAPTERS);
const size = z.int().min(1).max(LARGEST_SIZE);

const properties = z
  .strictObject({
    application_id: z.int().min(1).max(LARGEST_ID).nullable(),
    ethernet_adapters: adapters,
    l1_keepalives: z.boolean().nullable(),
    md5sum: imageDigest,
    nvram: size.nullable(),
    path: imageName.min(1),
    ram: size.nullable(),
    serial_adapters: adapters,
    usage: longText,
    use_default_iou_values: z.boolean().nullable(),
  })
  .partial();

const shownProperties = {
  /** Null until the node has got one. */
  application_id: z.int().nullable(),
  ethernet_adapters: adapters,
  l1_keepalives: z.boolean(),
  md5sum: imageDigest,
  nvram: z.int(),
  path: z.string(),
  ram: z.int(),
  serial_adapters: adapters,
  usage: z.string(),
  use_default_iou_values: z.boolean().nullable(),
};

const ROUTER_CONFIG = `!
hostname %h
!
no ip domain lookup
ip routing
!
line con 0
 exec-timeout 0 0
 logging synchronous
 privilege level 15
 no login
!
end
`;
const SWITCH_CONFIG = ROUTER_CONFIG.replace('ip routing', 'no ip routing');

/** The name of a node in its configuration. A line break in a name must not begin a command. */
function hostNameOf(name: string): string {
  return name.replaceAll(/\s/g, '');
}

const DEFAULTS = {
  ethernet_adapters: 2,
  l1_keepalives: false,
  nvram: 256,
  ram: 1024,
  serial_adapters: 2,
  usage: '',
  use_default_iou_values: false,
};

function settingsOf(given: Properties): Properties {
  return withoutKeys(withValue(given), ['md5sum']);
}

/** Says when there are more adapters than an image has. */
function faultIn(settings: Properties): string | undefined {
  const [ethernet, serial] = adapterCounts(settings);
  return ethernet + serial > MOST_ADAPTERS
    ? `there can be ${MOST_ADAPTERS} adapters, Ethernet and serial together`
    : undefined;
}

function checked(settings: Properties): Properties {
  const fault = faultIn(settings);
  if (fault !== undefined) throw refusals.propertyConflict(fault);
  return settings;
}

function adapterCounts(settings: Properties): [ethernet: number, serial: number] {
  const { ethernet_adapters: ethernet, serial_adapters: serial } = settings;
  return [
    countOf(ethernet, DEFAULTS.ethernet_adapters, MOST_ADAPTERS),
    countOf(serial, DEFAULTS.serial_adapters, MOST_ADAPTERS),
  ];
}

/** The files in the folder of a node that its configurations come from, and are copied to. */
export const STARTUP_CONFIG = 'startup-config.cfg';
export const PRIVATE_CONFIG = 'private-config.cfg';
const BASE_CONFIG = 'iou_l3_base_startup-config.txt';
const L2_BASE_CONFIG = 'iou_l2_base_startup-config.txt';

export const iou: ProgramKind & { readonly type: 'iou' } = {
  type: 'iou',
  title: 'an IOU node',
  alwaysRuns: false,
  imageProperties: ['path'],
  keepsContentElsewhere: false,
  load: machineLoad,
  properties,
  shownProperties,
  consoleTypes: CONSOLE_TYPES,
  creation: {
    ...routerConfigs,
    baseFiles: { [BASE_CONFIG]: ROUTER_CONFIG, [L2_BASE_CONFIG]: SWITCH_CONFIG },
  },
  startInputs: z
    .object({
      iourc_content: z.string().max(LONGEST_LICENSE).nullable(),
      license_check: z.boolean(),
    })
    .partial(),
  uniqueProperties: ['application_id'],
  hostNumber: { property: 'application_id', last: LARGEST_ID },
  portNaming: NAMING,
  portsOfAdapter: PORTS_OF_ADAPTER,
  template: {
    required: ['path'],
    settings: templateSettings({
      ...consoleSettings(CONSOLE_TYPES),
      ...z
        .object({
          ethernet_adapters: adapters,
          l1_keepalives: z.boolean(),
          nvram: size,
          path: imageName.min(1),
          private_config: fileName,
          ram: size,
          serial_adapters: adapters,
          startup_config: fileName,
          usage: longText,
          use_default_iou_values: z.boolean(),
        })
        .partial().shape,
    }),
    defaults: {
      ...DEFAULTS,
      ...routerDefaults,
      default_name_format: 'IOU{0}',
      startup_config: BASE_CONFIG,
      symbol: ':/symbols/multilayer_switch.svg',
    },
    faultIn,
  },
  medium: 'ethernet',
  capture: ETHERNET_CAPTURE,
  create(given) {
    const settings = settingsOf(given);
    if (settings['path'] === undefined)
      throw refusals.schemaViolated('in properties of iou', 'path is required');
    return checked({ ...DEFAULTS, application_id: null, md5sum: null, ...settings });
  },
  update(current, given) {
    const next: Record<string, unknown> = { ...current, ...settingsOf(given) };
    if (next['path'] !== current['path']) next['md5sum'] = null;
    return checked(next);
  },
  ports,
  checkPorts: checkPortNames,
  firstFiles(name, { startup_config_content: startup, private_config_content: secret }) {
    return Object.fromEntries(
      (
        [
          [STARTUP_CONFIG, startup],
          [PRIVATE_CONFIG, secret],
        ] as const
      ).flatMap(([file, text]) =>
        typeof text === 'string' ? [[file, text.replaceAll('%h', () => hostNameOf(name))]] : [],
      ),
    );
  },
};

/** The serial adapters come after the Ethernet ones, in numbers as in segments. */
function ports(owner: PortOwner): NodePort[] {
  const [count, stored] = adapterCounts(owner.properties);
  const serial = Math.min(stored, MOST_ADAPTERS - count);
  const ethernet = ethernetPorts(owner, { count, portsEach: PORTS_OF_ADAPTER, otherwise: NAMING.format });
  const others = Array.from({ length: serial * PORTS_OF_ADAPTER }, (_, index) => {
    const adapter = Math.floor(index / PORTS_OF_ADAPTER);
    const port = index % PORTS_OF_ADAPTER;
    const place = `${ethernet.nextSegment + adapter}/${port}`;
    return portOfType(SERIAL, {
      adapter: count + adapter,
      port,
      name: SERIAL.long + place,
      shortName: SERIAL.short + place,
    });
  });
  return [...ethernet.ports, ...others];
}
