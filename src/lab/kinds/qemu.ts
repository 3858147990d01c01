/** QEMU machines. */
import { refusals } from '../../base/errors/errors.js';
import { z } from 'zod';
import { checkPortNames, machinePorts } from './adapter-ports.js';
import { givenAdapters, macAddress } from './custom-adapters.js';
import { imageDigest, imageName, longText, onClose, withoutKeys, withValue } from './fields.js';
import { isAddress, pairsOfId } from './mac-addresses.js';
import { machineLoad } from './machine-load.js';
import type { ProgramKind, Properties } from './node-kind.js';
import { platformOf, QEMU_PLATFORMS, qemuProgram } from './qemu-platforms.js';
import { consoleSettings, guestDefaults, portNameSettings, templateSettings } from './template.js';
import { ETHERNET_CAPTURE } from './port-types.js';

const CONSOLE_TYPES = ['telnet', 'vnc', 'spice', 'spice+agent', 'none'] as const;
const DRIVES = ['hda', 'hdb', 'hdc', 'hdd'] as const;
const IMAGES = [
  'bios_image',
  'cdrom_image',
  ...DRIVES.map((drive) => `${drive}_disk_image` as const),
  'initrd',
  'kernel_image',
] as const;
const DIGESTS = IMAGES.map((image) => `${image}_md5sum`);
const NAMING = { format: 'Ethernet{0}', segmentSize: 0 };
const MOST_ADAPTERS = 275;
/** 16 TiB. */
const MOST_RAM = 16_777_216;

const adapterTypes = z.enum(
  // oxfmt-ignore
  [
    'e1000', 'e1000-82544gc', 'e1000-82545em', 'e1000e', 'i82550', 'i82551', 'i82557a', 'i82557b', 'i82557c',
    'i82558a', 'i82558b', 'i82559a', 'i82559b', 'i82559c', 'i82559er', 'i82562', 'i82801', 'igb', 'ne2k_pci',
    'pcnet', 'rocker', 'rtl8139', 'vhost-user', 'virtio', 'virtio-net-pci', 'vmxnet3',
  ],
);
/** QEMU has more network devices than GNS3 lists; the name must be no more than a name, because it is an option's first word. */
const adapterType = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be the name of a device');
const diskInterface = z.enum([
  'ide',
  'sata',
  'nvme',
  'scsi',
  'sd',
  'mtd',
  'floppy',
  'pflash',
  'virtio',
  'none',
]);
const bootPriority = z.enum(['c', 'd', 'n', 'cn', 'cd', 'dn', 'dc', 'nc', 'nd']);
const priority = z.enum(['realtime', 'very high', 'high', 'normal', 'low', 'very low']);
const ram = z.int().min(1).max(MOST_RAM);
const cpus = z.int().min(1).max(255);
const adapters = z.int().min(0).max(MOST_ADAPTERS);
const throttling = z.int().min(0).max(800);
const platform = z.enum([...QEMU_PLATFORMS, '']);

const images = Object.fromEntries(IMAGES.map((image) => [image, imageName]));
const digests = Object.fromEntries(DIGESTS.map((digest) => [digest, imageDigest]));
const interfaces = Object.fromEntries(DRIVES.map((drive) => [`${drive}_disk_interface`, diskInterface]));

const properties = z
  .strictObject({
    ...images,
    ...digests,
    ...interfaces,
    adapter_type: adapterType.nullable(),
    adapters: adapters.nullable(),
    boot_priority: bootPriority,
    cpu_throttling: throttling.nullable(),
    cpus: cpus.nullable(),
    create_config_disk: z.boolean().nullable(),
    custom_adapters: givenAdapters,
    kernel_command_line: longText.nullable(),
    legacy_networking: z.boolean().nullable(),
    linked_clone: z.boolean(),
    mac_address: macAddress.nullable(),
    on_close: onClose,
    options: longText.nullable(),
    platform: z.enum([...QEMU_PLATFORMS, '', 'null']),
    process_priority: z.enum([...priority.options, 'null']),
    qemu_path: qemuProgram.nullable(),
    ram: ram.nullable(),
    replicate_network_connection_state: z.boolean().nullable(),
    tpm: z.boolean().nullable(),
    uefi: z.boolean().nullable(),
    usage: longText,
  })
  .partial();

const shownProperties = {
  ...images,
  ...digests,
  ...Object.fromEntries(DRIVES.map((drive) => [`${drive}_disk_interface`, z.string()])),
  adapter_type: z.string(),
  adapters,
  boot_priority: bootPriority,
  cpu_throttling: throttling,
  cpus: cpus.nullable(),
  create_config_disk: z.boolean().nullable(),
  kernel_command_line: z.string(),
  legacy_networking: z.boolean(),
  linked_clone: z.boolean().optional(),
  mac_address: macAddress,
  on_close: onClose,
  options: z.string(),
  platform,
  process_priority: priority,
  qemu_path: z.string(),
  ram: z.int(),
  replicate_network_connection_state: z.boolean(),
  save_vm_state: z.boolean().nullable().optional(),
  tpm: z.boolean(),
  uefi: z.boolean(),
  usage: z.string(),
};

const SWITCHED_OFF = {
  create_config_disk: false,
  legacy_networking: false,
  tpm: false,
  uefi: false,
};

const NO_DISKS = {
  ...Object.fromEntries(IMAGES.map((image) => [image, ''])),
  ...Object.fromEntries(DRIVES.map((drive) => [`${drive}_disk_interface`, 'none'])),
};

/** The settings that a new node and a template have in common; their process priorities differ in GNS3. */
const DEFAULTS = {
  ...NO_DISKS,
  ...SWITCHED_OFF,
  adapter_type: 'e1000',
  adapters: 1,
  boot_priority: 'c',
  cpu_throttling: 0,
  cpus: 1,
  kernel_command_line: '',
  on_close: 'power_off',
  options: '',
  ram: 256,
  replicate_network_connection_state: true,
  usage: '',
};

const NO_DIGESTS = Object.fromEntries(DIGESTS.map((digest) => [digest, null]));

/** The settings that a client has given, without those that the server computes or keeps beside the properties. */
function settingsOf(given: Properties): Properties {
  const settings = withoutKeys(withValue(given), [...DIGESTS, 'custom_adapters']);
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== 'null'));
}

function checked(properties: Properties): Properties {
  if (
    properties['uefi'] === true &&
    properties['bios_image'] !== '' &&
    properties['bios_image'] !== undefined
  ) {
    throw refusals.propertyConflict('Cannot use a BIOS image and the UEFI boot mode at the same time');
  }
  return properties;
}

export const qemu: ProgramKind & { readonly type: 'qemu' } = {
  type: 'qemu',
  title: 'a QEMU machine',
  alwaysRuns: false,
  imageProperties: IMAGES,
  keepsContentElsewhere: false,
  load: machineLoad,
  properties,
  shownProperties,
  consoleTypes: CONSOLE_TYPES,
  uniqueProperties: ['mac_address'],
  portNaming: NAMING,
  template: {
    settings: templateSettings({
      ...consoleSettings(CONSOLE_TYPES),
      ...portNameSettings,
      ...z
        .object({
          ...images,
          ...interfaces,
          adapter_type: adapterTypes,
          adapters,
          boot_priority: bootPriority,
          cpu_throttling: throttling,
          cpus,
          create_config_disk: z.boolean(),
          kernel_command_line: longText,
          legacy_networking: z.boolean(),
          linked_clone: z.boolean(),
          mac_address: z.union([macAddress, z.literal('')]),
          on_close: onClose,
          options: longText,
          platform,
          process_priority: priority,
          qemu_path: z.union([qemuProgram, z.literal('')]),
          ram,
          replicate_network_connection_state: z.boolean(),
          tpm: z.boolean(),
          uefi: z.boolean(),
          usage: longText,
        })
        .partial().shape,
    }),
    defaults: {
      ...DEFAULTS,
      ...guestDefaults,
      first_port_name: '',
      linked_clone: true,
      platform: '',
      port_name_format: NAMING.format,
      port_segment_size: NAMING.segmentSize,
      process_priority: 'normal',
      qemu_path: '',
      symbol: ':/symbols/qemu_guest.svg',
    },
  },
  medium: 'ethernet',
  capture: ETHERNET_CAPTURE,
  create(given, nodeId) {
    const settings = settingsOf(given);
    return checked({
      ...DEFAULTS,
      ...NO_DIGESTS,
      mac_address: defaultAddress(nodeId),
      process_priority: 'low',
      ...settings,
      ...platformOf(settings),
    });
  },
  update(current, given) {
    const settings = settingsOf(given);
    const next: Record<string, unknown> = { ...current, ...settings };
    if (settings['platform'] !== undefined || settings['qemu_path'] !== undefined)
      Object.assign(next, platformOf(settings));
    for (const image of IMAGES) if (next[image] !== current[image]) next[`${image}_md5sum`] = null;
    return checked(next);
  },
  /** The disks of a node are made when it starts. */
  firstFiles: () => ({}),
  ports: (owner) =>
    machinePorts(owner, {
      most: MOST_ADAPTERS,
      firstAddress: firstAddress(owner.nodeId, owner.properties),
      otherwise: NAMING.format,
    }),
  checkPorts(owner) {
    checkPortNames(owner);
    for (const { adapter_type: type } of owner.customAdapters) {
      if (type !== undefined && !adapterType.safeParse(type).success)
        throw refusals.propertyConflict(`'${type}' is not the name of a network device`);
    }
  },
};

function firstAddress(nodeId: string, { mac_address: address }: Properties): string {
  return isAddress(address) ? address : defaultAddress(nodeId);
}

function defaultAddress(nodeId: string): string {
  return `0c:${pairsOfId(nodeId)}:00:00`;
}
