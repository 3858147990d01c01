/**
 * The additional options of a QEMU machine. A client writes them, and QEMU would start programs and open files of the
 * host for many: only those of the list below are passed on, unless the operator allows all.
 */
import { refusals } from '../../../base/errors/errors.js';
import { shellWords } from './shell-words.js';

/** A word of the options with its values in the place of `%vm-name%` and the others. */
type Placeholders = Readonly<Record<string, string>>;

/** Tells whether the argument of an option is harmless. */
type ArgumentRule = (argument: string) => boolean;

interface Pair {
  /** Undefined for a first word without a key. */
  readonly key: string | undefined;
  readonly value: string;
}

/** Devices that open files and devices of the host, or speak to it. */
const HOST_DEVICES =
  /^(vfio|vhost-(scsi|user|vdpa)|vdpa|loader$|guest-loader$|usb-(host|mtp|redir|ccid|braille|serial)|ccid-card|u2f-|canokey|ipmi-bmc|virtio-input-host|virtio-9p|scsi-(generic|block)|xen|ivshmem|remote|x-pci-proxy|vmgenid$|tpm-)/i;
/** Properties of devices and machines whose values are names of files. */
const FILE_PROPERTIES = new Set(
  // oxfmt-ignore
  [
    'bios', 'certificate', 'chardev', 'dir', 'dtb', 'dumpdtb', 'evdev', 'file', 'filename', 'firmware', 'frudatafile',
    'furdatafile', 'hidraw', 'hostdevice', 'initrd', 'kernel', 'logfile', 'mem-path', 'path', 'romfile', 'rootdir',
    'rrfile', 'sdrfile', 'shim', 'splash', 'sysfsdev', 'vhostdev', 'wayland-socket-path',
  ],
);
const RANDOM_SOURCES = ['/dev/urandom', '/dev/random'];

/** Pairs none of which names a file of the host. */
const namesNoFile: ArgumentRule = (argument) =>
  pairsOf(argument)?.every(({ key = '', value }) => !isFileProperty(key) && !value.includes('/')) === true;

const isHarmlessDevice: ArgumentRule = (argument) => {
  const pairs = pairsOf(argument);
  const drivers = pairs?.filter(({ key = 'driver' }) => key === 'driver') ?? [];
  return drivers.length > 0 && drivers.every(({ value }) => isHarmlessDriver(value)) && namesNoFile(argument);
};

/** `driver.property=value`, or `driver=…,property=…,value=…`. */
const isHarmlessGlobal: ArgumentRule = (argument) =>
  namesNoFile(argument) &&
  pairsOf(argument)?.every(({ key, value }) => key !== 'property' || !isFileProperty(value)) === true;

const keysExcept =
  (...refused: readonly string[]): ArgumentRule =>
  (argument) =>
    pairsOf(argument)?.every(({ key = '' }) => !refused.includes(key)) === true;

const keysOnly =
  (...allowed: readonly string[]): ArgumentRule =>
  (argument) =>
    pairsOf(argument)?.every(({ key }) => key === undefined || allowed.includes(key)) === true;

const oneOf =
  (...allowed: readonly string[]): ArgumentRule =>
  (argument) =>
    allowed.includes(argument);

const like =
  (pattern: RegExp): ArgumentRule =>
  (argument) =>
    pattern.test(argument);

const isRandomObject: ArgumentRule = (argument) => {
  const [type, ...rest] = pairsOf(argument) ?? [];
  return (
    type?.key === undefined &&
    (type?.value === 'rng-random' || type?.value === 'rng-builtin') &&
    rest.every(({ key, value }) => key === 'id' || (key === 'filename' && RANDOM_SOURCES.includes(value)))
  );
};

/** The options that are passed on: null for those without an argument. */
const ALLOWED: ReadonlyMap<string, ArgumentRule | null> = new Map<string, ArgumentRule | null>([
  ['M', namesNoFile],
  ['accel', namesNoFile],
  ['boot', namesNoFile],
  ['cpu', namesNoFile],
  ['device', isHarmlessDevice],
  ['display', oneOf('none')],
  ['enable-kvm', null],
  ['fw_cfg', keysOnly('name', 'string')],
  ['global', isHarmlessGlobal],
  ['icount', keysOnly('shift', 'align', 'sleep')],
  ['k', like(/^[a-z]{2}(-[a-z]{2})?$/)],
  ['machine', namesNoFile],
  ['monitor', oneOf('none')],
  ['no-acpi', null],
  ['no-hpet', null],
  ['no-reboot', null],
  ['no-shutdown', null],
  ['no-user-config', null],
  ['nodefaults', null],
  ['nographic', null],
  ['object', isRandomObject],
  ['overcommit', namesNoFile],
  ['parallel', oneOf('none')],
  ['rtc', namesNoFile],
  ['serial', oneOf('none', 'null')],
  ['smbios', keysExcept('file', 'path')],
  ['smp', namesNoFile],
  ['usb', null],
  ['usbdevice', oneOf('keyboard', 'mouse', 'tablet', 'wacom-tablet')],
  ['uuid', like(/^[0-9a-fA-F-]{1,36}$/)],
  ['vga', like(/^[a-z]{1,16}$/)],
  ['watchdog', like(/^[a-z0-9-]{1,32}$/)],
  ['watchdog-action', like(/^[a-z-]{1,32}$/)],
]);

const PLACEHOLDER = /%(?:vm-name|vm-id|project-id|project-path|console-port|guest-cid)%/g;

/**
 * The words of the options, with the placeholders filled in afterwards: a name never becomes more than a part of a word.
 * Refuses (409) options that may reach the host, unless they are allowed.
 */
export function optionWords(text: string, placeholders: Placeholders, allowsUnsafe: boolean): string[] {
  const words = shellWords(text);
  if (words === undefined) throw refusals.optionsUnreadable();
  const filled: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const rule = word.startsWith('-') ? ALLOWED.get(nameOf(word)) : undefined;
    if (rule === undefined) {
      if (!allowsUnsafe) throw refusals.optionForbidden(word);
      filled.push(fill(word, placeholders, false));
      continue;
    }
    filled.push(word);
    const argument = words[at + 1];
    if (rule === null || argument === undefined) continue;
    at++;
    const value = fill(argument, placeholders, true);
    if (!allowsUnsafe && !rule(value)) throw refusals.optionForbidden(`${word} ${value}`);
    filled.push(value);
  }
  return filled;
}

/** Whether one of these options is among the words. */
export function hasOption(words: readonly string[], ...names: readonly string[]): boolean {
  return words.some((word) => word.startsWith('-') && names.includes(nameOf(word)));
}

/** Whether the options choose how the processor of the guest is run. */
export function choosesAccelerator(words: readonly string[]): boolean {
  return (
    hasOption(words, 'accel', 'enable-kvm') ||
    words.some((word, at) => {
      const option = words[at - 1] ?? '';
      const isMachine = option.startsWith('-') && ['M', 'machine'].includes(nameOf(option));
      return isMachine && pairsOf(word)?.some(({ key }) => key === 'accel') === true;
    })
  );
}

/** The text as one value among the pairs of an option: QEMU takes two commas for one. */
export function escaped(text: string): string {
  return text.replaceAll(',', ',,');
}

/** Whether a device of this name reaches no file and no device of the host. */
export function isHarmlessDriver(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) && !HOST_DEVICES.test(name);
}

function isFileProperty(key: string): boolean {
  return key.split('.').some((part) => FILE_PROPERTIES.has(part.toLowerCase()));
}

/** QEMU takes one hyphen or two. */
function nameOf(word: string): string {
  return word.replace(/^--?/, '');
}

function fill(word: string, placeholders: Placeholders, isPairs: boolean): string {
  return word.replace(PLACEHOLDER, (name) => {
    const value = placeholders[name.slice(1, -1)] ?? '';
    return isPairs ? escaped(value) : value;
  });
}

/** The pairs of an argument, parted as QEMU does. Undefined for an argument in JSON, which is another way to say the same. */
function pairsOf(argument: string): Pair[] | undefined {
  if (argument.trimStart().startsWith('{')) return undefined;
  const parts: string[] = [''];
  for (let at = 0; at < argument.length; at++) {
    const character = argument.charAt(at);
    if (character !== ',') parts.push((parts.pop() ?? '') + character);
    else if (argument.charAt(at + 1) !== ',') parts.push('');
    else {
      parts.push(`${parts.pop() ?? ''},`);
      at++;
    }
  }
  return parts.map((part, index) => {
    const equals = part.indexOf('=');
    if (equals >= 0) return { key: part.slice(0, equals), value: part.slice(equals + 1) };
    // A later word without a value is a key that is switched on.
    return index === 0 ? { key: undefined, value: part } : { key: part, value: '' };
  });
}
