/**
 * The file that an IOU image keeps its configuration in, as NVRAM: the first half has the startup configuration and
 * the private one behind it, and the rest belongs to the image. Numbers are big-endian.
 */
import { NvramError } from './nvram-error.js';
import { uncompressed } from './unix-compress.js';

/** The most bytes of a file, and of a configuration. */
export const LARGEST_NVRAM = 1024 * 1024;

interface IouConfigs {
  readonly startup: Buffer;
  /** Empty when there is none. */
  readonly private: Buffer;
}

const MAGIC = 0xabcd;
const PRIVATE_MAGIC = 0xfedc;
/** A sector of the image's own files begins with it. */
const FILE_MAGIC = 0xdcba;
const RAW = 1;
const COMPRESSED = 2;
const AT = { format: 2, checksum: 4, version: 6, start: 8, end: 12, length: 16 } as const;
const PRIVATE_AT = { format: 2, start: 4, end: 8, length: 12 } as const;
const HEADER = 36;
const PRIVATE_HEADER = 16;
const VERSION = 0x0f04;
/** Images of this version and older pad by four bytes more in some files. */
const OLD_VERSION = 0x0f00;
const LARGE_HALF = 64 * 1024;
const BASE = 0x1000_0000;
/** The end of the first half belongs to the image. */
const TAIL = 2048;
const SECTOR = 1024;
const SMALLEST = 4 * TAIL;

export function readNvram(file: Buffer): IouConfigs {
  const half = halfOf(file);
  if (half === undefined || file.readUInt16BE(0) !== MAGIC) throw new NvramError('it has no configuration');
  const end = HEADER + file.readUInt32BE(AT.length);
  if (end > half) throw new NvramError('its startup configuration is longer than the file');
  const stored = file.subarray(HEADER, end);
  return { startup: unpacked(file, AT.format, stored), private: readPrivate(file, end, half) };
}

function readPrivate(file: Buffer, startupEnd: number, half: number): Buffer {
  const first = startupEnd + missingTo4(startupEnd);
  const isAt = (place: number): boolean =>
    place + PRIVATE_HEADER <= half && file.readUInt16BE(place) === PRIVATE_MAGIC;
  const at = [first, first + 4].find(isAt);
  if (at === undefined) return Buffer.alloc(0);
  const start = at + PRIVATE_HEADER;
  const end = start + file.readUInt32BE(at + PRIVATE_AT.length);
  if (end > half) throw new NvramError('its private configuration is longer than the file');
  return unpacked(file, at + PRIVATE_AT.format, file.subarray(start, end));
}

/** `at` is where the format of the configuration is. */
function unpacked(file: Buffer, at: number, stored: Buffer): Buffer {
  const format = file.readUInt16BE(at);
  if (format === RAW) return Buffer.from(stored);
  if (format === COMPRESSED) return uncompressed(stored, LARGEST_NVRAM);
  throw new NvramError(`its configuration has the unknown format ${format}`);
}

/**
 * Returns the file with other configurations. What belongs to the image stays as it is in `before`; without a file, or
 * with one that has no such form, a new one of so many kilobytes is made.
 */
export function writeNvram(before: Buffer | undefined, kilobytes: number, configs: IouConfigs): Buffer {
  const file = usable(before) ?? Buffer.alloc(Math.max(kilobytes * 1024, SMALLEST));
  const half = Math.floor(file.length / 2);
  const version = file.readUInt16BE(0) === MAGIC ? file.readUInt16BE(AT.version) : VERSION;
  const startupEnd = HEADER + configs.startup.length;
  const privateAt = startupEnd + padding(startupEnd, version, half);
  const end = configs.private.length === 0 ? startupEnd : privateAt + PRIVATE_HEADER + configs.private.length;
  if (end > roomOf(file, half))
    throw new NvramError('the configuration does not fit into the NVRAM: give the node a larger one');
  file.fill(0, 0, roomOf(file, half));
  file.writeUInt16BE(MAGIC, 0);
  file.writeUInt16BE(RAW, AT.format);
  file.writeUInt16BE(version, AT.version);
  file.writeUInt32BE(BASE + HEADER, AT.start);
  file.writeUInt32BE(BASE + startupEnd, AT.end);
  file.writeUInt32BE(configs.startup.length, AT.length);
  configs.startup.copy(file, HEADER);
  if (configs.private.length > 0) {
    const start = privateAt + PRIVATE_HEADER;
    file.writeUInt16BE(PRIVATE_MAGIC, privateAt);
    file.writeUInt16BE(RAW, privateAt + PRIVATE_AT.format);
    file.writeUInt32BE(BASE + start, privateAt + PRIVATE_AT.start);
    file.writeUInt32BE(BASE + start + configs.private.length, privateAt + PRIVATE_AT.end);
    file.writeUInt32BE(configs.private.length, privateAt + PRIVATE_AT.length);
    configs.private.copy(file, start);
  }
  file.writeUInt16BE(checksum(file.subarray(0, half)), AT.checksum);
  return file;
}

/** A copy that may be changed. */
function usable(before: Buffer | undefined): Buffer | undefined {
  if (before === undefined || halfOf(before) === undefined) return undefined;
  return Buffer.from(before);
}

/** The length of the first half; undefined for what cannot be an NVRAM. */
function halfOf(file: Buffer): number | undefined {
  if (file.length < SMALLEST || file.length > LARGEST_NVRAM) return undefined;
  return Math.floor(file.length / 2);
}

/** The bytes behind a configuration that ends there. */
function padding(end: number, version: number, half: number): number {
  const usual = missingTo4(end);
  return usual > 0 && (version <= OLD_VERSION || half >= LARGE_HALF) ? usual + 4 : usual;
}

function missingTo4(end: number): number {
  return (4 - (end % 4)) % 4;
}

/** Configurations reach to the first sector with files of the image, which are at the end of the first half. */
function roomOf(file: Buffer, half: number): number {
  let end = half - TAIL;
  while (end >= 2 * SECTOR && file.readUInt16BE(end - SECTOR) === FILE_MAGIC) end -= SECTOR;
  return end;
}

/** The one's complement of the one's complement sum of the words, as if the field of the sum were 0. */
function checksum(half: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < half.length; at += 2) if (at !== AT.checksum) sum += half.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 0x10000);
  return ~sum & 0xffff;
}
