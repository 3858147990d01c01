/** One entry of an archive's directory, checked against the member's own header. */
import { isUtf8 } from 'node:buffer';
import { getFileNameLowLevel, type Entry } from 'yauzl';
import { refusals } from '../../base/errors/errors.js';
import { nameFault, withoutLastSlash, ZIP_METHODS, type Compression, type ZipMember } from './zip-member.js';
import type { ReadWindow } from './read-window.js';
import type { ZipEnd } from './zip-bounds.js';

/** A member, and where it begins (with its header) and ends in the file. */
export interface PlacedMember {
  readonly member: ZipMember;
  readonly start: number;
  readonly end: number;
}

const UNIX = 3;
const HEADER = 0x04034b50;
const HEADER_LENGTH = 30;
const IS_ENCRYPTED = 0x0001;
const HAS_DESCRIPTOR = 0x0008;
const IS_UTF8 = 0x0800;
const IS_MASKED = 0x2000;
/** Flags that must be the same in the header and in the directory. */
const SAME_FLAGS = IS_ENCRYPTED | IS_UTF8;
/** This length means: see elsewhere. */
const UNKNOWN = 0xffffffff;
const LONGEST_LINK = 4096;
const TYPE_BITS = 0o170000;
const MODE_BITS = 0o7777;
const KINDS: Readonly<Record<number, ZipMember['kind'] | 'any'>> = {
  0: 'any',
  0o040000: 'folder',
  0o100000: 'file',
  0o120000: 'link',
};
const COMPRESSIONS = new Map<number, Compression>([
  [ZIP_METHODS.none, 'none'],
  [ZIP_METHODS.zip, 'zip'],
  [ZIP_METHODS.bzip2, 'bzip2'],
  [ZIP_METHODS.lzma, 'lzma'],
]);
/** Methods that some programs write, and this does not read. */
const OTHER_METHODS: Readonly<Record<number, string>> = {
  1: 'Shrink',
  6: 'Implode',
  9: 'Deflate64',
  93: 'Zstandard',
  95: 'XZ',
  98: 'PPMd',
  99: 'AES encryption',
};

/** Refuses (409) a member that cannot be read, or must not be unpacked. */
export function placeMember(entry: Entry, rawName: Buffer, end: ZipEnd, window: ReadWindow): PlacedMember {
  const flags = entry.generalPurposeBitFlag;
  const name = nameOf(entry, rawName);
  const fault = nameFault(name, rawName, (flags & IS_UTF8) !== 0);
  if (fault !== undefined) throw refusals.importRefused(name, fault);
  if ((flags & (IS_ENCRYPTED | IS_MASKED)) !== 0) throw refusals.importRefused(name, 'it is encrypted');
  const compression = compressionOf(name, entry.compressionMethod);
  const kind = kindOf(name, entry);
  checkSizes(name, kind, compression, entry);
  const start = end.base + entry.relativeOffsetOfLocalHeader;
  const position = dataPosition(name, entry, rawName, window, start);
  if (position + entry.compressedSize > end.directory.start) {
    throw refusals.importRefused(name, 'its content reaches into the directory of the archive');
  }
  const mode = entry.externalFileAttributes >>> 16;
  const modifiedMs = entry.getLastModDate({ timezone: 'UTC' }).getTime();
  const member: ZipMember = {
    path: withoutLastSlash(name),
    kind,
    size: entry.uncompressedSize,
    compressedSize: entry.compressedSize,
    crc32: entry.crc32,
    compression,
    position,
    mode: mode === 0 ? undefined : mode & MODE_BITS,
    modifiedMs: Number.isNaN(modifiedMs) ? 0 : modifiedMs,
  };
  return { member, start, end: position + entry.compressedSize };
}

/** Info-ZIP writes names in the encoding of the host without saying so; on Unix that is UTF-8. */
function nameOf(entry: Entry, rawName: Buffer): string {
  const isHosts = entry.versionMadeBy >> 8 === UNIX && isUtf8(rawName);
  const flags = entry.generalPurposeBitFlag | (isHosts ? IS_UTF8 : 0);
  return getFileNameLowLevel(flags, rawName, entry.extraFields, true);
}

function compressionOf(name: string, method: number): Compression {
  const compression = COMPRESSIONS.get(method);
  if (compression !== undefined) return compression;
  const known = OTHER_METHODS[method];
  const told = known === undefined ? String(method) : `${method} (${known})`;
  throw refusals.importRefused(name, `it is compressed with the method ${told}, which is not supported`);
}

/** Some programs store no kind of file: then a slash at the end of the name marks a folder. */
function kindOf(name: string, entry: Entry): ZipMember['kind'] {
  const byName = name.endsWith('/') ? 'folder' : 'file';
  const byMode = KINDS[(entry.externalFileAttributes >>> 16) & TYPE_BITS];
  if (byMode === undefined)
    throw refusals.importRefused(name, 'it is neither a file nor a folder nor a link');
  if (byMode === 'any' || byMode === byName) return byName;
  if (byMode === 'link' && byName === 'file') return 'link';
  throw refusals.importRefused(name, `by its name it is a ${byName}, by its mode a ${byMode}`);
}

function checkSizes(name: string, kind: ZipMember['kind'], compression: Compression, entry: Entry): void {
  const { uncompressedSize: size, compressedSize } = entry;
  const isImpossible = compression === 'none' ? size !== compressedSize : size > 0 && compressedSize === 0;
  if (isImpossible)
    throw refusals.importRefused(name, 'the two lengths that it should have contradict each other');
  if (kind === 'folder' && size > 0) throw refusals.importRefused(name, 'it is a folder and has a content');
  if (kind === 'link' && size > LONGEST_LINK) {
    throw refusals.importRefused(name, `it is a link whose target is longer than ${LONGEST_LINK} bytes`);
  }
}

/** Where the compressed content begins: only the member's own header has the lengths of all before it. */
function dataPosition(
  name: string,
  entry: Entry,
  rawName: Buffer,
  window: ReadWindow,
  start: number,
): number {
  const header = window.read(start, HEADER_LENGTH);
  if (header.length < HEADER_LENGTH || header.readUInt32LE() !== HEADER) {
    throw refusals.importRefused(name, 'it is not where the directory of the archive says');
  }
  const flags = header.readUInt16LE(6);
  const hasDescriptor = (flags & HAS_DESCRIPTOR) !== 0;
  const isSame =
    ((flags ^ entry.generalPurposeBitFlag) & SAME_FLAGS) === 0 &&
    header.readUInt16LE(8) === entry.compressionMethod &&
    header.readUInt16LE(26) === rawName.length &&
    (hasDescriptor || header.readUInt32LE(14) === entry.crc32) &&
    isLength(header.readUInt32LE(18), entry.compressedSize, hasDescriptor) &&
    isLength(header.readUInt32LE(22), entry.uncompressedSize, hasDescriptor);
  const position = start + HEADER_LENGTH + rawName.length + header.readUInt16LE(28);
  if (!isSame || !window.read(start + HEADER_LENGTH, rawName.length).equals(rawName)) {
    throw refusals.importRefused(name, 'its own header contradicts the directory of the archive');
  }
  return position;
}

function isLength(told: number, length: number, hasDescriptor: boolean): boolean {
  return told === length || told === UNKNOWN || (hasDescriptor && told === 0);
}
