/** Zip archives made octet by octet, with what no zip program would make, too. */
import { crc32, deflateRawSync } from 'node:zlib';

export interface MadeMember {
  readonly name: string | Uint8Array;
  /** Before it is compressed. */
  readonly content?: string | Uint8Array;
  /** 0 or 8; of any other, `compressed` has the octets. */
  readonly method?: number;
  readonly compressed?: Uint8Array;
  /** With the type of the file; 0 when it is not told. */
  readonly mode?: number;
  readonly flags?: number;
  readonly extra?: Uint8Array;
  readonly localExtra?: Uint8Array;
  readonly comment?: string;
  /** The host: 3, which is Unix, when it is not told. */
  readonly madeBy?: number;
  /** Wrong facts that the directory claims. */
  readonly claims?: Partial<Claims>;
  /** Wrong facts that the member's own header claims, if they are not those of the directory. */
  readonly localClaims?: Partial<Claims & { readonly name: string }>;
}

export interface Claims {
  readonly crc32: number;
  readonly size: number;
  readonly compressedSize: number;
  readonly method: number;
  readonly flags: number;
  /** The position of the header in the archive. */
  readonly offset: number;
}

export interface MadeEnd {
  readonly comment?: string;
  readonly disk?: number;
  readonly count?: number;
  readonly countHere?: number;
  readonly directorySize?: number;
  readonly directoryOffset?: number;
  /** With the records for large archives, too. */
  readonly isLarge?: boolean;
}

export const REGULAR = 0o100644;
export const FOLDER = 0o040755;
export const LINK = 0o120777;
const UTF8 = 0x0800;
/** 2026-11-21, 12:34:56. */
const TIME = (12 << 11) | (34 << 5) | 28;
const DATE = ((2026 - 1980) << 9) | (11 << 5) | 21;
export const MODIFIED_MS = Date.UTC(2026, 10, 21, 12, 34, 56);

interface Laid {
  readonly header: Buffer;
  readonly entry: Buffer;
}

export function zipArchive(members: readonly MadeMember[], end: MadeEnd = {}): Buffer {
  const laid: Laid[] = [];
  let offset = 0;
  for (const member of members) {
    const next = lay(member, offset);
    laid.push(next);
    offset += next.header.length;
  }
  const directory = Buffer.concat(laid.map(({ entry }) => entry));
  const headers = laid.map(({ header }) => header);
  return Buffer.concat([...headers, directory, zipEnd(offset, directory.length, members.length, end)]);
}

/** A member is a name and a content; one with a slash at its end is a folder. */
export function plainArchive(members: Readonly<Record<string, string | Uint8Array>>): Buffer {
  const made = Object.entries(members).map(([name, content]) => ({ name, content, method: 8 }));
  return zipArchive(made.map((member) => (member.name.endsWith('/') ? { name: member.name } : member)));
}

function lay(member: MadeMember, offset: number): Laid {
  const { method = 0, mode = REGULAR, flags = UTF8, comment = '', madeBy = 3 } = member;
  const name = Buffer.from(member.name);
  const content = Buffer.from(member.content ?? '');
  const compressed = member.compressed ?? (method === 8 ? deflateRawSync(content) : content);
  const extra = Buffer.from(member.extra ?? []);
  const localExtra = Buffer.from(member.localExtra ?? []);
  const is = {
    crc32: crc32(content),
    size: content.length,
    compressedSize: compressed.length,
    method,
    flags,
  };
  const told: Claims = { ...is, offset, ...member.claims };
  const isFolder = name.at(-1) === 0x2f;

  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE((madeBy << 8) | 20, 4);
  writeFacts(entry, 6, told, name.length, extra.length);
  entry.writeUInt16LE(comment.length, 32);
  entry.writeUInt32LE(((isFolder && mode === REGULAR ? FOLDER : mode) * 0x10000) >>> 0, 38);
  entry.writeUInt32LE(told.offset, 42);

  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  const localName = Buffer.from(member.localClaims?.name ?? name);
  writeFacts(header, 4, { ...told, ...member.localClaims }, localName.length, localExtra.length);
  return {
    header: Buffer.concat([header, localName, localExtra, compressed]),
    entry: Buffer.concat([entry, name, extra, Buffer.from(comment)]),
  };
}

/** The part that both kinds of headers have. */
function writeFacts(
  header: Buffer,
  at: number,
  facts: Claims,
  nameLength: number,
  extraLength: number,
): void {
  header.writeUInt16LE(20, at);
  header.writeUInt16LE(facts.flags, at + 2);
  header.writeUInt16LE(facts.method, at + 4);
  header.writeUInt16LE(TIME, at + 6);
  header.writeUInt16LE(DATE, at + 8);
  header.writeUInt32LE(facts.crc32, at + 10);
  header.writeUInt32LE(facts.compressedSize, at + 14);
  header.writeUInt32LE(facts.size, at + 18);
  header.writeUInt16LE(nameLength, at + 22);
  header.writeUInt16LE(extraLength, at + 24);
}

function zipEnd(offset: number, size: number, members: number, made: MadeEnd): Buffer {
  const { comment = '', disk = 0, isLarge = false } = made;
  const count = made.count ?? members;
  const countHere = made.countHere ?? count;
  const directorySize = made.directorySize ?? size;
  const directoryOffset = made.directoryOffset ?? offset;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(isLarge ? 0 : disk, 4);
  end.writeUInt16LE(isLarge ? 0xffff : countHere, 8);
  end.writeUInt16LE(isLarge ? 0xffff : count, 10);
  end.writeUInt32LE(isLarge ? 0xffffffff : directorySize, 12);
  end.writeUInt32LE(isLarge ? 0xffffffff : directoryOffset, 16);
  end.writeUInt16LE(comment.length, 20);
  if (!isLarge) return Buffer.concat([end, Buffer.from(comment)]);
  const large = Buffer.alloc(56 + 20);
  large.writeUInt32LE(0x06064b50, 0);
  large.writeBigUInt64LE(44n, 4);
  large.writeUInt16LE((3 << 8) | 45, 12);
  large.writeUInt16LE(45, 14);
  large.writeUInt32LE(disk, 16);
  large.writeBigUInt64LE(BigInt(countHere), 24);
  large.writeBigUInt64LE(BigInt(count), 32);
  large.writeBigUInt64LE(BigInt(directorySize), 40);
  large.writeBigUInt64LE(BigInt(directoryOffset), 48);
  large.writeUInt32LE(0x07064b50, 56);
  large.writeBigUInt64LE(BigInt(offset + size), 64);
  large.writeUInt32LE(1, 72);
  return Buffer.concat([large, end, Buffer.from(comment)]);
}

/** The extra field of lengths and offsets of 64 bits. */
export function largeExtra(...numbers: readonly number[]): Buffer {
  const extra = Buffer.alloc(4 + 8 * numbers.length);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(8 * numbers.length, 2);
  numbers.forEach((number, index) => {
    extra.writeBigUInt64LE(BigInt(number), 4 + 8 * index);
  });
  return extra;
}
