/** The command line of a QEMU machine. Its order decides which PCI slots the devices have, and with that their names in the guest. */
import { refusals } from '../../../base/errors/errors.js';
import { byAdapter, type CustomAdapter } from '../../../lab/kinds/custom-adapters.js';
import { addressAfter, isAddress, pairsOfId } from '../../../lab/kinds/mac-addresses.js';
import type { Properties } from '../../../lab/kinds/node-kind.js';
import { platformOf, QEMU_PLATFORMS } from '../../../lab/kinds/qemu-platforms.js';
import { choosesAccelerator, escaped, hasOption, isHarmlessDriver, optionWords } from './qemu-options.js';
import type { PreparedDisks, PreparedDrive, PreparedImages } from './prepared-disks.js';
import { isShared, sharedMemoryArgs, sharedNetdev, type AdapterEnd } from './guest-adapters.js';

export interface QemuCommandInput {
  readonly node: {
    readonly id: string;
    readonly name: string;
    readonly projectId: string;
    readonly projectFolder: string;
  };
  readonly properties: Properties;
  readonly customAdapters: readonly CustomAdapter[];
  readonly disks: PreparedDisks;
  readonly images: PreparedImages;
  /** The ends of the adapters, in their order. */
  readonly adapters: readonly AdapterEnd[];
  /** Paths of Unix sockets in a folder of the run. */
  readonly sockets: { readonly qmp: string; readonly console: string; readonly tpm: string | undefined };
  readonly consoleType: string | undefined;
  readonly consolePort: number | null;
  /** Whether KVM was found to work for the platform. */
  readonly isKvm: boolean;
  /** The version of QEMU. */
  readonly version: readonly [major: number, minor: number];
  /** Whether the operator allows options that reach the host. */
  readonly allowsUnsafe: boolean;
}

export interface QemuCommand {
  readonly command: string;
  readonly args: string[];
  readonly niceness: number;
}

/** Devices that a PC has in slots of its root bus: host bridge, ISA bridge, display, and one of the others. */
const OWN_DEVICES = 4;
const SLOTS = 32;
const FIRST_WITH_DGRAM = [7, 2] as const;
const SANDBOX = 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny';
const NICENESS: Readonly<Record<string, number>> = {
  'very low': 19,
  low: 5,
  normal: 0,
  high: -5,
  'very high': -15,
  realtime: -20,
};

/**
 * The program must not be started in the folder of the node: QEMU looks for some of its own files in its working folder
 * first. The guest waits for `cont`. Refuses (409) options that may reach the host.
 */
export function qemuCommand(input: QemuCommandInput): QemuCommand {
  const { node, properties, disks, images, sockets, consoleType } = input;
  const options = optionsOf(input);
  const hasDisplay = hasOption(options, 'display', 'nographic');
  const args = [
    ...['-name', `guest=${escaped(node.name)}`],
    ...['-m', `${qemuMemory(properties)}M`],
    ...sharedMemoryArgs(input.adapters, qemuMemory(properties)),
    ...['-smp', `cpus=${wholeOf(properties['cpus'], 1)},sockets=1`],
    ...(input.isKvm && !choosesAccelerator(options) ? kvm(properties) : []),
    ...['-boot', `order=${bootOrder(properties)}`],
    ...firmware(disks, images),
    ...(images.cdrom === undefined
      ? []
      : ['-drive', `file=${escaped(images.cdrom)},format=raw,index=2,media=cdrom,readonly=on`]),
    ...disks.drives.flatMap(driveArgs),
    ...kernelArgs(images, textOf(properties['kernel_command_line'])),
    ...(hasOption(options, 'uuid') ? [] : ['-uuid', node.id]),
    ...consoleArgs(consoleType, sockets.console, hasOption(options, 'vga')),
    ...['-monitor', 'none', '-qmp', `unix:${escaped(sockets.qmp)},server=on,wait=off`, '-S'],
    ...networkArgs(input),
    ...(hasDisplay ? [] : ['-display', 'none']),
    ...tpmArgs(sockets.tpm),
    ...options,
    ...(consoleType === 'vnc' ? ['-machine', 'usb=on', '-device', 'usb-tablet'] : []),
    ...(hasOption(options, 'sandbox') ? [] : ['-sandbox', SANDBOX]),
  ];
  return { command: qemuProgramName(properties), args, niceness: nicenessOf(properties) };
}

/**
 * The name of the program, which the system's folders are searched for: a path in the properties may lead to a file that a
 * client has written.
 */
export function qemuProgramName(properties: Properties): string {
  const base = textOf(properties['qemu_path']).split(/[/\\]/).at(-1);
  if (base === 'qemu-kvm' || base === 'qemu') return base;
  return `qemu-system-${qemuPlatform(properties)}`;
}

export function qemuPlatform(properties: Properties): (typeof QEMU_PLATFORMS)[number] {
  const { platform } = platformOf(properties);
  return QEMU_PLATFORMS.find((known) => known === platform) ?? 'x86_64';
}

/** In MiB. */
export function qemuMemory({ ram }: Properties): number {
  return wholeOf(ram, 256);
}

function nicenessOf({ process_priority: priority }: Properties): number {
  return NICENESS[textOf(priority)] ?? NICENESS['low'] ?? 0;
}

function optionsOf({ node, properties, allowsUnsafe, adapters, consolePort }: QemuCommandInput): string[] {
  const placeholders = {
    'vm-name': node.name,
    'vm-id': node.id,
    'project-id': node.projectId,
    'project-path': node.projectFolder,
    'console-port': consolePort === null ? '' : String(consolePort),
    // The number must be that of one guest of the host: so is a port of its own.
    'guest-cid': String(adapters.find(isWire)?.programPort ?? consolePort ?? ''),
  };
  return optionWords(textOf(properties['options']), placeholders, allowsUnsafe);
}

function kvm(properties: Properties): string[] {
  const isPc = qemuPlatform(properties) === 'x86_64';
  return ['-enable-kvm', ...(isPc ? ['-machine', 'smm=off'] : [])];
}

function bootOrder({ boot_priority: order }: Properties): string {
  return typeof order === 'string' && /^[cdn]{1,3}$/.test(order) ? order : 'c';
}

function firmware({ uefi }: PreparedDisks, { bios }: PreparedImages): string[] {
  if (uefi === undefined) return bios === undefined ? [] : ['-bios', bios];
  return [
    ...['-drive', `if=pflash,format=raw,readonly=on,file=${escaped(uefi.code)}`],
    ...['-drive', `if=pflash,format=raw,file=${escaped(uefi.variables)}`],
  ];
}

function driveArgs({ index, path, format, interface: kind }: PreparedDrive): string[] {
  const drive = (controller: string): string[] => [
    '-drive',
    `file=${escaped(path)},format=${format},if=${controller},index=${index},media=disk,id=drive${index}`,
  ];
  switch (kind) {
    case 'sata':
      return [
        ...['-device', `ahci,id=ahci${index}`, ...drive('none')],
        ...['-device', `ide-hd,drive=drive${index},bus=ahci${index}.0,id=drive${index}`],
      ];
    case 'nvme':
      return [...drive('none'), '-device', `nvme,drive=drive${index},serial=${index}`];
    case 'scsi':
      return [
        ...['-device', `virtio-scsi-pci,id=scsi${index}`, ...drive('none')],
        ...['-device', `scsi-hd,drive=drive${index}`],
      ];
    case 'ide':
    case 'virtio':
    case 'floppy':
    case 'sd':
    case 'mtd':
    case 'pflash':
      return drive(kind);
    default:
      return drive('none');
  }
}

function kernelArgs({ kernel, initrd }: PreparedImages, line: string): string[] {
  // QEMU takes a comma for the beginning of another file's name when the kernel is a multiboot one.
  if (initrd?.includes(',') === true)
    throw refusals.propertyConflict('The path of initrd must have no comma');
  return [
    ...(initrd === undefined ? [] : ['-initrd', initrd]),
    ...(kernel === undefined ? [] : ['-kernel', kernel]),
    ...(line === '' ? [] : ['-append', line]),
  ];
}

function consoleArgs(type: string | undefined, socket: string, hasGraphics: boolean): string[] {
  const spice = [
    ...['-spice', `unix=on,addr=${escaped(socket)},disable-ticketing=on`],
    ...(hasGraphics ? [] : ['-vga', 'qxl']),
  ];
  switch (type) {
    case 'telnet':
      return ['-serial', `unix:${escaped(socket)},server=on,wait=off`];
    case 'vnc':
      return ['-vnc', `unix:${escaped(socket)}`];
    case 'spice':
      return spice;
    case 'spice+agent':
      return [
        ...spice,
        ...['-device', 'virtio-serial'],
        ...['-chardev', 'spicevmc,id=vdagent,debug=0,name=vdagent'],
        ...['-device', 'virtserialport,chardev=vdagent,name=com.redhat.spice.0'],
        ...['-chardev', 'spiceport,name=org.spice-space.webdav.0,id=charchannel0'],
        ...['-device', 'virtserialport,chardev=charchannel0,id=channel0,name=org.spice-space.webdav.0'],
      ];
    case undefined:
    default:
      return [];
  }
}

function tpmArgs(socket: string | undefined): string[] {
  if (socket === undefined) return [];
  return [
    ...['-chardev', `socket,id=chrtpm,path=${escaped(socket)}`],
    ...['-tpmdev', 'emulator,id=tpm0,chardev=chrtpm', '-device', 'tpm-tis,tpmdev=tpm0'],
  ];
}

function networkArgs({
  node,
  properties,
  customAdapters,
  adapters,
  version,
  isKvm,
  disks,
}: QemuCommandInput): string[] {
  const isLegacy = properties['legacy_networking'] === true;
  const custom = byAdapter(customAdapters);
  const { mac_address: given, adapter_type: type } = properties;
  const first = isAddress(given) ? given : `0c:${pairsOfId(node.id)}:00:00`;
  const taken = OWN_DEVICES + disks.drives.filter(({ interface: kind }) => kind !== 'ide').length;
  return [
    // Without this QEMU adds an adapter of its own when there is none.
    ...(isLegacy && adapters.length > 0 ? [] : ['-net', 'none']),
    ...(isLegacy ? [] : bridges(Math.floor((taken + adapters.length - 1) / SLOTS))),
    ...adapters.flatMap((end, index) => {
      const own = custom.get(index);
      const device = deviceOf(own?.adapter_type ?? textOf(type));
      const address = isAddress(own?.mac_address) ? own.mac_address : addressAfter(first, index);
      const netdev = netdevArgs(index, end, version);
      if (isLegacy) return [...netdev, '-net', `nic,model=${device},macaddr=${address},netdev=gns3-${index}`];
      const speed = device === 'virtio-net-pci' ? ',speed=10000,duplex=full' : '';
      // QEMU 7.2 dies without KVM when the driver of such an adapter asks for interrupts by messages.
      const interrupts = 'socket' in end && !isKvm ? ',vectors=0' : '';
      const place = placeOf(taken + index);
      const settings = `mac=${address}${speed}${interrupts},netdev=gns3-${index}${place}`;
      return [...netdev, '-device', `${device},${settings}`];
    }),
  ];
}

function deviceOf(type: string): string {
  if (type === '') return 'e1000';
  if (type === 'virtio' || isShared(type)) return 'virtio-net-pci';
  // A project that was imported may name any.
  if (!isHarmlessDriver(type)) throw refusals.propertyConflict(`'${type.slice(0, 64)}' is no network device`);
  return type;
}

function isWire(end: AdapterEnd): end is Exclude<AdapterEnd, { socket: string }> {
  return !('socket' in end);
}

/** Users' options name the ids. */
function netdevArgs(index: number, adapter: AdapterEnd, version: QemuCommandInput['version']): string[] {
  if (!isWire(adapter)) return sharedNetdev(index, adapter.socket);
  const { programPort, enginePort } = adapter;
  const [major, minor] = FIRST_WITH_DGRAM;
  const hasDgram = version[0] > major || (version[0] === major && version[1] >= minor);
  const end = (which: string, port: number): string =>
    `${which}.type=inet,${which}.host=127.0.0.1,${which}.port=${port}`;
  const netdev = hasDgram
    ? `dgram,id=gns3-${index},${end('local', programPort)},${end('remote', enginePort)}`
    : `socket,id=gns3-${index},udp=127.0.0.1:${enginePort},localaddr=127.0.0.1:${programPort}`;
  return ['-netdev', netdev];
}

/** One slot of the root bus leads to all bridges; the adapters that are before them there leave it free. */
function bridges(count: number): string[] {
  if (count === 0) return [];
  const made = ['-device', 'i82801b11-bridge,id=dmi_pci_bridge1'];
  for (let bridge = 1; bridge <= count; bridge++) {
    const place = `bus=dmi_pci_bridge1,chassis_nr=${bridge},addr=0x${bridge.toString(16)}`;
    made.push('-device', `pci-bridge,id=pci-bridge${bridge},${place},shpc=off`);
  }
  return made;
}

function placeOf(device: number): string {
  const bridge = Math.floor(device / SLOTS);
  return bridge === 0 ? '' : `,bus=pci-bridge${bridge},addr=0x${(device % SLOTS).toString(16)}`;
}

function wholeOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : otherwise;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
