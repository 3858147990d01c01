/** Small zip archives, which are in memory as a whole. Pure. Whatever comes from a client is checked before it is used. */
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { CONFIG_ARCHIVE, ConfigCollector, DISK_BYTES, type ConfigFiles } from './config-files.js';

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const LOCAL_LENGTH = 30;
const CENTRAL_LENGTH = 46;
const END_LENGTH = 22;
const LONGEST_COMMENT = 65_535;
const STORED = 0;
const DEFLATED = 8;
const ENCRYPTED = 1;
const NAMES_IN_UTF8 = 0x800;
/** Deflation. */
const VERSION = 20;
/** Other programs look at this before they believe that names are in UTF-8. */
const MADE_ON_UNIX = 3 << 8;
/** The upper half has the mode of the file. */
const PLAIN_FILE = 0o100644 * 0x10000;
/** The first day that zip and FAT know: content alone makes one archive differ from another. */
export const FIRST_DAY = 0x0021;

/** Refuses (409) a file that is no archive, and an archive that holds more than the disk can. */
export function readConfigZip(bytes: Buffer): ConfigFiles {
  const collector = new ConfigCollector(CONFIG_ARCHIVE);
  const end = endOf(bytes);
  if (end === undefined) throw collector.refusal('it is no zip archive');
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  try {
    for (let index = 0; index < count; index++) {
      if (bytes.readUInt32LE(at) !== CENTRAL) throw new RangeError('no entry');
      const entry = entryAt(bytes, at);
      at += entry.length;
      if (!entry.name.endsWith('/')) collector.add(entry.name, contentOf(bytes, entry));
    }
  } catch (error) {
    // Numbers that lead out of the archive, and content that cannot be unpacked.
    if (error instanceof RangeError || (error instanceof Error && 'errno' in error))
      throw collector.refusal('it is damaged');
    throw error;
  }
  return collector.files;
}

export function writeConfigZip(files: ConfigFiles): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const [path, content] of files) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(content);
    const facts = Buffer.alloc(LOCAL_LENGTH - 4);
    facts.writeUInt16LE(VERSION, 0);
    facts.writeUInt16LE(NAMES_IN_UTF8, 2);
    facts.writeUInt16LE(DEFLATED, 4);
    facts.writeUInt16LE(FIRST_DAY, 8);
    facts.writeUInt32LE(crc32(content), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(content.length, 18);
    facts.writeUInt16LE(name.length, 22);
    const central = Buffer.alloc(CENTRAL_LENGTH);
    central.writeUInt32LE(CENTRAL, 0);
    central.writeUInt16LE(MADE_ON_UNIX | VERSION, 4);
    facts.copy(central, 6);
    central.writeUInt32LE(PLAIN_FILE, 38);
    central.writeUInt32LE(offset, 42);
    centrals.push(central, name);
    const local = [numberOf(LOCAL), facts, name, packed];
    locals.push(...local);
    offset += LOCAL_LENGTH + name.length + packed.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(END_LENGTH);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(files.size, 8);
  end.writeUInt16LE(files.size, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}

interface ZipEntry {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly sum: number;
  readonly packed: number;
  readonly size: number;
  readonly local: number;
  /** The bytes of the entry itself. */
  readonly length: number;
}

function endOf(bytes: Buffer): number | undefined {
  const last = bytes.length - END_LENGTH;
  for (let at = last; at >= Math.max(0, last - LONGEST_COMMENT); at--)
    if (bytes.readUInt32LE(at) === END) return at;
  return undefined;
}

function entryAt(bytes: Buffer, at: number): ZipEntry {
  const nameLength = bytes.readUInt16LE(at + 28);
  const others = bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  return {
    flags: bytes.readUInt16LE(at + 8),
    method: bytes.readUInt16LE(at + 10),
    sum: bytes.readUInt32LE(at + 16),
    packed: bytes.readUInt32LE(at + 20),
    size: bytes.readUInt32LE(at + 24),
    local: bytes.readUInt32LE(at + 42),
    name: bytes.toString('utf8', at + CENTRAL_LENGTH, at + CENTRAL_LENGTH + nameLength),
    length: CENTRAL_LENGTH + nameLength + others,
  };
}

/** Throws a RangeError when the content is not what the entry says. */
function contentOf(bytes: Buffer, { flags, method, sum, packed, size, local }: ZipEntry): Buffer {
  if (bytes.readUInt32LE(local) !== LOCAL) throw new RangeError('no content');
  const start = local + LOCAL_LENGTH + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
  if ((flags & ENCRYPTED) !== 0 || start + packed > bytes.length || size > DISK_BYTES)
    throw new RangeError('no content');
  const given = bytes.subarray(start, start + packed);
  const isPacked = method === DEFLATED && size > 0;
  if (!isPacked && method !== STORED && method !== DEFLATED) throw new RangeError('no known packing');
  const content = isPacked ? inflateRawSync(given, { maxOutputLength: size }) : given.subarray(0, size);
  if (content.length !== size || crc32(content) !== sum) throw new RangeError('other content');
  return content;
}

function numberOf(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
