/**
 * Where an archive begins and ends in a file, and where its directory is. Browsers send an archive as a part of a
 * multipart/form-data body, which is stored as it came. Runs in worker threads.
 */
import { readAt } from './read-window.js';

export interface ArchiveRange {
  readonly start: number;
  readonly end: number;
}

export interface ZipEnd {
  /** The position in the file that the offsets of the archive count from. */
  readonly base: number;
  /** Where the directory is in the file. */
  readonly directory: ArchiveRange;
  /** The number of members. */
  readonly count: number;
  /** Whether this is one part of an archive of several files. */
  readonly isPart: boolean;
}

/** The end record, of the usual form or of Zip64. */
interface EndRecord {
  readonly position: number;
  readonly isPart: boolean;
  readonly count: number;
  readonly size: number;
  readonly offset: number;
}

const MEMBER = 0x04034b50;
const END = 0x06054b50;
const END_LENGTH = 22;
const LONGEST_COMMENT = 0xffff;
const LOCATOR = 0x07064b50;
const LOCATOR_LENGTH = 20;
const LARGE_END = 0x06064b50;
const LARGE_END_LENGTH = 56;
/** The record's own length field leaves out its first 12 bytes. */
const LARGE_END_COUNTED = BigInt(LARGE_END_LENGTH - 12);
const LONGEST = LARGE_END_LENGTH + LOCATOR_LENGTH + END_LENGTH + LONGEST_COMMENT;
const UNKNOWN_SHORT = 0xffff;
const UNKNOWN_LONG = 0xffffffff;

/**
 * Undefined if no archive ends exactly at the end of the range. Bytes before the archive are accepted, unless a member
 * begins where the range begins: an archive that is cut off behind a smaller archive within it must not pass for the
 * smaller one.
 */
export function findZipEnd(fd: number, { start, end }: ArchiveRange): ZipEnd | undefined {
  const tailStart = Math.max(start, end - LONGEST);
  const tail = readAt(fd, tailStart, Math.max(0, end - tailStart));
  const record = endRecord(tail);
  if (record === undefined) return undefined;
  const { size, offset, count, isPart } = record;
  const directoryEnd = tailStart + record.position;
  const directory = { start: directoryEnd - size, end: directoryEnd };
  const base = directory.start - offset;
  const first = readAt(fd, start, 4);
  const hasNothingBefore = first.length === 4 && first.readUInt32LE() === MEMBER;
  const isRight = hasNothingBefore ? base === start : base >= start;
  return isRight ? { base, directory, count, isPart } : undefined;
}

function endRecord(tail: Buffer): EndRecord | undefined {
  const position = endPosition(tail);
  if (position === undefined) return undefined;
  const isPart = tail.readUInt16LE(position + 4) !== 0 || tail.readUInt16LE(position + 6) !== 0;
  const count = tail.readUInt16LE(position + 10);
  const size = tail.readUInt32LE(position + 12);
  const offset = tail.readUInt32LE(position + 16);
  const locator = position - LOCATOR_LENGTH;
  if (locator < 0 || tail.readUInt32LE(locator) !== LOCATOR) {
    return { position, isPart: isPart || tail.readUInt16LE(position + 8) !== count, count, size, offset };
  }
  const large = largeEndRecord(tail, locator);
  if (large === undefined) return undefined;
  const isSame =
    (count === UNKNOWN_SHORT || count === large.count) &&
    (size === UNKNOWN_LONG || size === large.size) &&
    (offset === UNKNOWN_LONG || offset === large.offset);
  return isSame ? large : undefined;
}

/** Only the last signature counts: an earlier one belongs to a comment or to a member. */
function endPosition(tail: Buffer): number | undefined {
  for (let position = tail.length - END_LENGTH; position >= 0; position -= 1) {
    if (tail.readUInt32LE(position) !== END) continue;
    const isWhole = position + END_LENGTH + tail.readUInt16LE(position + 20) === tail.length;
    return isWhole ? position : undefined;
  }
  return undefined;
}

/** The end record of Zip64: right before its locator, where every program writes it. */
function largeEndRecord(tail: Buffer, locator: number): EndRecord | undefined {
  const position = locator - LARGE_END_LENGTH;
  if (position < 0 || tail.readUInt32LE(position) !== LARGE_END) return undefined;
  if (tail.readBigUInt64LE(position + 4) !== LARGE_END_COUNTED) return undefined;
  const count = tail.readBigUInt64LE(position + 32);
  const size = tail.readBigUInt64LE(position + 40);
  const offset = tail.readBigUInt64LE(position + 48);
  // The record must come right behind the directory.
  if (tail.readBigUInt64LE(locator + 8) !== offset + size) return undefined;
  const isPart =
    tail.readUInt32LE(position + 16) !== 0 ||
    tail.readUInt32LE(position + 20) !== 0 ||
    tail.readBigUInt64LE(position + 24) !== count;
  return { position, isPart, count: Number(count), size: Number(size), offset: Number(offset) };
}

/** The longest headers of one part, and the most bytes before the file. */
const LONGEST_HEAD = 16 * 1024;
const LONGEST_FIELDS = 64 * 1024;
/** The most bytes behind the file. */
const LONGEST_REST = 64 * 1024;
/** More than any form has. */
const MOST_PARTS = 100;
/** RFC 2046: a boundary has at most 70 characters. */
const FIRST_LINE = /^--([\x20-\x7e]{1,70})\r\n/;
const FILE_NAME = /^content-disposition:[^\r\n]*;\s*filename\*?=/im;
const HEAD_END = '\r\n\r\n';
const ZIP = 'PK';

/** Where the archive lies in the body that a client sent: all of it, or the first file of a multipart body. */
export function archiveRange(fd: number, size: number): ArchiveRange {
  const whole = { start: 0, end: size };
  const head = readAt(fd, 0, Math.min(size, LONGEST_FIELDS)).toString('latin1');
  const boundary = FIRST_LINE.exec(head)?.[1]?.trimEnd();
  if (boundary === undefined) return whole;
  const delimiter = `\r\n--${boundary}`;
  const start = fileStart(head, delimiter);
  return start === undefined ? whole : { start, end: fileEnd(fd, start, size, delimiter) };
}

function fileStart(head: string, delimiter: string): number | undefined {
  let part = 0;
  for (let parts = 0; parts < MOST_PARTS; parts += 1) {
    // A part without headers: the line break of the delimiter's line is the first half of HEAD_END.
    const headEnd = head.indexOf(HEAD_END, part);
    if (headEnd < 0 || headEnd - part > LONGEST_HEAD) return undefined;
    const start = headEnd + HEAD_END.length;
    if (FILE_NAME.test(head.slice(part, headEnd)) || head.startsWith(ZIP, start)) return start;
    const next = head.indexOf(delimiter, start);
    if (next < 0) return undefined;
    part = next + delimiter.length;
  }
  return undefined;
}

/** The first delimiter at which an archive ends: the content of the archive may contain the same bytes. */
function fileEnd(fd: number, start: number, size: number, delimiter: string): number {
  const restStart = Math.max(start, size - LONGEST_REST);
  const rest = readAt(fd, restStart, size - restStart).toString('latin1');
  const ends: number[] = [];
  for (let found = rest.indexOf(delimiter); found >= 0; found = rest.indexOf(delimiter, found + 1)) {
    ends.push(restStart + found);
  }
  const right = ends.slice(-MOST_PARTS).find((end) => findZipEnd(fd, { start, end }) !== undefined);
  return right ?? ends[0] ?? size;
}
