/** The bytes of a zip archive around the content of its members (APPNOTE.TXT of PKWARE, 6.3.10). */
import { ZIP_METHODS, type Compression } from './zip-member.js';

/** The facts of a member that are known before its content. */
export interface MemberStart {
  /** With slashes; the path of a folder has no slash at its end. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
  /** The permissions. */
  readonly mode: number;
  readonly modifiedMs: number;
  readonly compression: Compression;
  /** Where its local header begins in the archive. */
  readonly start: number;
  /** Whether its sizes may need more than 32 bits. */
  readonly isLarge: boolean;
}

export interface MemberSums {
  readonly crc32: number;
  readonly size: number;
  readonly compressedSize: number;
}

const SIGNATURES = {
  localHeader: 0x04034b50,
  descriptor: 0x08074b50,
  directory: 0x02014b50,
  largeEnd: 0x06064b50,
  largeEndLocator: 0x07064b50,
  end: 0x06054b50,
} as const;
const LENGTHS = {
  localHeader: 30,
  descriptor: 16,
  largeDescriptor: 24,
  directory: 46,
  largeEnd: 56,
  largeEndLocator: 20,
  end: 22,
} as const;
const FLAGS = { endMarker: 1 << 1, descriptor: 1 << 3, utf8: 1 << 11 } as const;
/** These replace a number that does not fit; the extra field has it. */
const BEYOND_16 = 0xffff;
const BEYOND_32 = 0xffff_ffff;
const LARGE_EXTRA = 1;
const MADE_BY_UNIX = (3 << 8) | 63;
const LARGE_VERSION = 45;
/** The version of the format that a reader must know. */
const VERSIONS: Readonly<Record<Compression, number>> = { none: 20, zip: 20, bzip2: 46, lzma: 63 };
/** Below 4 GiB, because incompressible content gets a little longer. */
const LARGE_FROM = 0xf000_0000;
const MODES = { file: 0o100644, folder: 0o040755, link: 0o120777 } as const;
const PERMISSIONS = 0o777;
const IS_FOLDER = 0x10;
const FIRST_TIME = Date.UTC(1980, 0, 1);
const LAST_TIME = Date.UTC(2107, 11, 31, 23, 59, 58);

export function isLargeMember(size: number): boolean {
  return size >= LARGE_FROM;
}

/** Goes before the content. Without sums, a `descriptor` must follow the content. */
export function localHeader(member: MemberStart, sums?: MemberSums): Buffer {
  const name = nameOf(member);
  const header = Buffer.alloc(LENGTHS.localHeader);
  header.writeUInt32LE(SIGNATURES.localHeader, 0);
  writeCommon(header, 4, member, sums !== undefined, name);
  const { crc32, size, compressedSize } = sums ?? { crc32: 0, size: 0, compressedSize: 0 };
  header.writeUInt32LE(crc32, 14);
  header.writeUInt32LE(member.isLarge ? BEYOND_32 : compressedSize, 18);
  header.writeUInt32LE(member.isLarge ? BEYOND_32 : size, 22);
  const extra = largeExtra(member.isLarge ? [size, compressedSize] : []);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, name, extra]);
}

/** Goes behind the content, if the local header has no sums. */
export function descriptor({ isLarge }: MemberStart, { crc32, size, compressedSize }: MemberSums): Buffer {
  const record = Buffer.alloc(isLarge ? LENGTHS.largeDescriptor : LENGTHS.descriptor);
  record.writeUInt32LE(SIGNATURES.descriptor, 0);
  record.writeUInt32LE(crc32, 4);
  if (isLarge) {
    record.writeBigUInt64LE(BigInt(compressedSize), 8);
    record.writeBigUInt64LE(BigInt(size), 16);
  } else {
    record.writeUInt32LE(compressedSize, 8);
    record.writeUInt32LE(size, 12);
  }
  return record;
}

/** The record of the central directory. `isKnown`: the local header has the sums. */
export function directoryRecord(member: MemberStart, sums: MemberSums, isKnown: boolean): Buffer {
  const name = nameOf(member);
  const numbers = [sums.size, sums.compressedSize, member.start];
  const extra = largeExtra(numbers.filter((number) => number >= BEYOND_32));
  const record = Buffer.alloc(LENGTHS.directory);
  record.writeUInt32LE(SIGNATURES.directory, 0);
  record.writeUInt16LE(MADE_BY_UNIX, 4);
  writeCommon(record, 6, { ...member, isLarge: member.isLarge || extra.length > 0 }, isKnown, name);
  record.writeUInt32LE(sums.crc32, 16);
  record.writeUInt32LE(Math.min(sums.compressedSize, BEYOND_32), 20);
  record.writeUInt32LE(Math.min(sums.size, BEYOND_32), 24);
  record.writeUInt16LE(extra.length, 30);
  record.writeUInt32LE(attributesOf(member), 38);
  record.writeUInt32LE(Math.min(member.start, BEYOND_32), 42);
  return Buffer.concat([record, name, extra]);
}

/** Goes behind the central directory, which has `count` records and begins at `start`. */
export function endRecords(count: number, start: number, length: number): Buffer {
  const end = Buffer.alloc(LENGTHS.end);
  end.writeUInt32LE(SIGNATURES.end, 0);
  end.writeUInt16LE(Math.min(count, BEYOND_16), 8);
  end.writeUInt16LE(Math.min(count, BEYOND_16), 10);
  end.writeUInt32LE(Math.min(length, BEYOND_32), 12);
  end.writeUInt32LE(Math.min(start, BEYOND_32), 16);
  const isLarge = count >= BEYOND_16 || start >= BEYOND_32 || length >= BEYOND_32;
  return isLarge ? Buffer.concat([largeEndRecords(count, start, length), end]) : end;
}

function largeEndRecords(count: number, start: number, length: number): Buffer {
  const end = Buffer.alloc(LENGTHS.largeEnd);
  end.writeUInt32LE(SIGNATURES.largeEnd, 0);
  end.writeBigUInt64LE(BigInt(LENGTHS.largeEnd - 12), 4);
  end.writeUInt16LE(MADE_BY_UNIX, 12);
  end.writeUInt16LE(LARGE_VERSION, 14);
  end.writeBigUInt64LE(BigInt(count), 24);
  end.writeBigUInt64LE(BigInt(count), 32);
  end.writeBigUInt64LE(BigInt(length), 40);
  end.writeBigUInt64LE(BigInt(start), 48);
  const locator = Buffer.alloc(LENGTHS.largeEndLocator);
  locator.writeUInt32LE(SIGNATURES.largeEndLocator, 0);
  locator.writeBigUInt64LE(BigInt(start + length), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([end, locator]);
}

/** Writes the fields that the local header and the directory record share, except the sums. */
function writeCommon(
  target: Buffer,
  offset: number,
  { compression, modifiedMs, isLarge }: MemberStart,
  isKnown: boolean,
  name: Buffer,
): void {
  const version = VERSIONS[compression];
  const flags =
    FLAGS.utf8 | (isKnown ? 0 : FLAGS.descriptor) | (compression === 'lzma' ? FLAGS.endMarker : 0);
  const { date, time } = dosTime(modifiedMs);
  target.writeUInt16LE(isLarge ? Math.max(version, LARGE_VERSION) : version, offset);
  target.writeUInt16LE(flags, offset + 2);
  target.writeUInt16LE(ZIP_METHODS[compression], offset + 4);
  target.writeUInt16LE(time, offset + 6);
  target.writeUInt16LE(date, offset + 8);
  target.writeUInt16LE(name.length, offset + 22);
}

function largeExtra(numbers: readonly number[]): Buffer {
  if (numbers.length === 0) return Buffer.alloc(0);
  const extra = Buffer.alloc(4 + 8 * numbers.length);
  extra.writeUInt16LE(LARGE_EXTRA, 0);
  extra.writeUInt16LE(8 * numbers.length, 2);
  for (const [index, number] of numbers.entries()) extra.writeBigUInt64LE(BigInt(number), 4 + 8 * index);
  return extra;
}

function nameOf({ path, kind }: MemberStart): Buffer {
  return Buffer.from(kind === 'folder' ? `${path}/` : path);
}

/** The upper half is the Unix mode. */
function attributesOf({ kind, mode }: MemberStart): number {
  const unix = kind === 'file' ? MODES.file | (mode & PERMISSIONS) : MODES[kind];
  return ((unix << 16) | (kind === 'folder' ? IS_FOLDER : 0)) >>> 0;
}

/** MS-DOS time has steps of two seconds and no time zone: UTC is used. */
function dosTime(modifiedMs: number): { date: number; time: number } {
  const known = Number.isNaN(modifiedMs) ? FIRST_TIME : modifiedMs;
  const at = new Date(Math.min(Math.max(known, FIRST_TIME), LAST_TIME));
  return {
    date: ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
    time: (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
  };
}
