/** Containers of the Docker engine. */
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import { byAdapter, givenAdapters, macAddress } from './custom-adapters.js';
import { countOf, longText, tcpPort, withoutKeys, withValue } from './fields.js';
import { addressAfter, isAddress, pairsOfId } from './mac-addresses.js';
import type { PortOwner, ProgramKind, Properties } from './node-kind.js';
import { ETHERNET, ETHERNET_CAPTURE, portOfType } from './port-types.js';
import type { NodePort } from './port.js';
import { consoleSettings, guestDefaults, templateSettings } from './template.js';

/** The interfaces of a container are set up from this file in the folder of its node. */
const INTERFACES_FILE = 'etc/network/interfaces';
const INTERFACES = `# The network of this container, read by ifup when it starts.
#
# auto eth0
# iface eth0 inet static
#\taddress 192.0.2.2
#\tnetmask 255.255.255.0
#\tgateway 192.0.2.1
#
# auto eth0
# iface eth0 inet dhcp
`;

const CONSOLE_TYPES = ['telnet', 'vnc', 'http', 'https', 'none'] as const;
const MOST_ADAPTERS = 99;
const MOST_VOLUMES = 256;

const image = z.string().min(1).max(4096);
const adapters = z.int().min(0).max(MOST_ADAPTERS);
const resolution = z
  .string()
  .max(15)
  .regex(/^[0-9]+x[0-9]+$/, 'must be a width and a height, as in 1024x768');
const volumes = z.array(z.string().max(4096)).max(MOST_VOLUMES);
const containerId = z
  .string()
  .min(12)
  .max(64)
  .regex(/^[a-f0-9]+$/, 'must be the id of a container');
const httpPath = z.string().max(4096);

const properties = z
  .strictObject({
    adapters: adapters.nullable(),
    aux: tcpPort.nullable(),
    console_http_path: httpPath,
    console_http_port: tcpPort,
    console_resolution: resolution.nullable(),
    container_id: containerId.nullable(),
    custom_adapters: givenAdapters,
    environment: longText.nullable(),
    extra_hosts: longText.nullable(),
    extra_volumes: volumes,
    image,
    mac_address: macAddress.nullable(),
    start_command: longText.nullable(),
    usage: longText,
  })
  .partial();

const shownProperties = {
  adapters: adapters.nullable(),
  aux: tcpPort.nullable(),
  console_http_path: z.string(),
  console_http_port: z.int(),
  console_resolution: z.string(),
  /** Null until the engine has made the container. */
  container_id: containerId.nullable(),
  environment: z.string().nullable(),
  extra_hosts: z.string().nullable(),
  extra_volumes: z.array(z.string()),
  image: z.string(),
  mac_address: macAddress.nullable(),
  start_command: z.string().nullable(),
  usage: z.string(),
};

const DEFAULTS = {
  adapters: 1,
  console_http_path: '/',
  console_http_port: 80,
  console_resolution: '1024x768',
  usage: '',
};

/** The settings that a client has given, in the form in which it is kept. The engine chooses the id of the container. */
function settingsOf(given: Properties): Properties {
  const settings = withoutKeys(withValue(given), ['container_id', 'custom_adapters']);
  const { image: name, start_command: command, extra_volumes: paths } = settings;
  for (const path of volumes.safeParse(paths).data ?? []) checkVolume(path);
  return {
    ...settings,
    ...(typeof name === 'string' ? { image: tagged(name) } : {}),
    ...(typeof command === 'string' ? { start_command: command.trim() === '' ? null : command.trim() } : {}),
  };
}

function checkVolume(path: string): void {
  if (path.startsWith('/') && !path.includes('..')) return;
  throw refusals.propertyConflict(
    `Persistent volume '${path}' has invalid format. It must start with a '/' and not contain '..'.`,
  );
}

/** A name without a tag or a digest means the latest image. A colon in front of the last part is that of a port. */
function tagged(name: string): string {
  const last = name.split('/').at(-1) ?? '';
  return last.includes(':') || last.includes('@') ? name : `${name}:latest`;
}

/** Its property `image` names an image of the Docker engine, not an image file of this server. */
export const docker: ProgramKind & { readonly type: 'docker' } = {
  type: 'docker',
  title: 'a Docker container',
  alwaysRuns: false,
  imageProperties: [],
  keepsContentElsewhere: false,
  properties,
  shownProperties,
  consoleTypes: CONSOLE_TYPES,
  hostNumber: { property: 'aux' },
  uniqueProperties: ['aux', 'container_id', 'mac_address'],
  template: {
    required: ['image'],
    settings: templateSettings({
      ...consoleSettings(CONSOLE_TYPES),
      ...z
        .object({
          adapters,
          console_http_path: httpPath.min(1),
          console_http_port: tcpPort,
          console_resolution: resolution,
          custom_adapters: givenAdapters,
          environment: longText,
          extra_hosts: longText,
          extra_volumes: volumes,
          image,
          mac_address: z.union([macAddress, z.literal('')]),
          start_command: longText,
          usage: longText,
        })
        .partial().shape,
    }),
    defaults: {
      ...DEFAULTS,
      ...guestDefaults,
      environment: '',
      extra_hosts: '',
      extra_volumes: [],
      start_command: '',
      symbol: ':/symbols/docker_guest.svg',
    },
  },
  medium: 'ethernet',
  capture: ETHERNET_CAPTURE,
  create(given, nodeId) {
    const settings = settingsOf(given);
    if (settings['image'] === undefined)
      throw refusals.schemaViolated('in properties of docker', 'image is required');
    return {
      ...DEFAULTS,
      aux: null,
      container_id: null,
      environment: null,
      extra_hosts: null,
      extra_volumes: [],
      mac_address: defaultAddress(nodeId),
      start_command: null,
      ...settings,
    };
  },
  update: (current, given) => ({ ...current, ...settingsOf(given) }),
  ports,
  firstFiles: () => ({ [INTERFACES_FILE]: INTERFACES }),
};

function ports({ nodeId, properties: stored, customAdapters: custom }: PortOwner): NodePort[] {
  const customOf = byAdapter(custom);
  const first = isAddress(stored['mac_address']) ? stored['mac_address'] : defaultAddress(nodeId);
  return Array.from({ length: countOf(stored['adapters'], 1, MOST_ADAPTERS) }, (_, adapter) => {
    const name = customOf.get(adapter)?.port_name ?? `eth${adapter}`;
    return {
      ...portOfType(ETHERNET, { adapter, port: 0, name, shortName: name }),
      mac_address: customOf.get(adapter)?.mac_address ?? addressAfter(first, adapter),
    };
  });
}

function defaultAddress(nodeId: string): string {
  return `02:42:${pairsOfId(nodeId)}:00`;
}
