/**
 * Makes zip archives piece by piece. Between two pieces nothing is held but the cursor, so no thread waits for a slow
 * client, and each piece can be made by another thread. The central directory is collected in a file beside the plan.
 * Runs in worker threads.
 */
import { crc32 } from 'node:zlib';
import {
  contentSize,
  DirectoryFile,
  plannedPath,
  PlanReader,
  readContent,
  unreadableBecause,
  versionNow,
  type PlannedMember,
  type PlanRoots,
} from './zip-plan.js';
import { beginContent, encodeContent, endContent, newHeldStream } from './member-encoding.js';
import { descriptor, directoryRecord, endRecords, localHeader, type MemberStart } from './zip-format.js';
import type { MemberBody, OpenMember, ZipCursor, ZipPiece } from './zip-cursor.js';
import { isWhole, memberStart, WHOLE } from './zip-layout.js';
import type { Compression } from './zip-member.js';

const CHUNK = WHOLE;
/** The most content read for one piece: the slower the compression, the less. */
const MOST_READ: Readonly<Record<Compression, number>> = {
  none: 16 * CHUNK,
  zip: 16 * CHUNK,
  bzip2: CHUNK,
  lzma: CHUNK,
};
/** Files are sent as they are; Deflate has parts. The streams of the others go from front to back. */
const BODIES: Readonly<Record<Compression, ZipCursor['bodies']>> = {
  none: 'files',
  zip: 'all',
  bzip2: 'none',
  lzma: 'none',
};

/** Touches no disk. */
export function firstCursor(
  plan: string,
  roots: PlanRoots,
  compression: Compression,
  bodies = BODIES[compression],
): ZipCursor {
  const start = { line: 0, open: undefined, position: 0, members: 0, directory: 0, sent: 0 };
  return { plan, roots, isInner: false, compression, bodies, held: newHeldStream(), ...start };
}

/**
 * Use each cursor once. When this throws, the archive cannot go on and its native memory is free. Refuses (409) when the
 * library of the compression is missing.
 */
export function nextPiece(cursor: ZipCursor, room?: SharedArrayBuffer): ZipPiece {
  try {
    const making = new PieceMaking(cursor, room);
    try {
      return making.make();
    } finally {
      making.close();
    }
  } catch (error) {
    dropCursor(cursor);
    throw error;
  }
}

/** Call it when no further piece is wanted, and none is being made; with any cursor of the archive, also twice. */
export function dropCursor({ held, compression }: ZipCursor): void {
  endContent(held, compression);
}

class PieceMaking {
  readonly #warnings: string[] = [];
  readonly #room: PieceRoom;
  readonly #plan: PlanReader;
  readonly #directory: DirectoryFile;
  /** Directory records of the members that this piece has finished. */
  #records: Buffer[] = [];
  #cursor: ZipCursor;
  #body: MemberBody | undefined;
  /** The position in the plan after the current member. */
  #nextLine = 0;

  constructor(cursor: ZipCursor, room: SharedArrayBuffer | undefined) {
    this.#cursor = cursor;
    this.#room = new PieceRoom(CHUNK, MOST_READ[cursor.compression], room);
    this.#directory = new DirectoryFile(cursor.plan);
    this.#plan = new PlanReader(cursor.plan, cursor.open?.line ?? cursor.line);
  }

  make(): ZipPiece {
    let isOver = false;
    if (this.#cursor.open !== undefined) this.#goOn(this.#cursor.open);
    while (!isOver && this.#body === undefined && !this.#room.isEnough) {
      if (!this.#begin()) isOver = this.#sendDirectory();
    }
    this.#keepRecords();
    const { bytes } = this.#room;
    const cursor = isOver ? undefined : { ...this.#cursor, position: this.#position };
    return { bytes, body: this.#body, cursor, warnings: this.#warnings };
  }

  close(): void {
    this.#plan.close();
  }

  get #position(): number {
    return this.#cursor.position + this.#room.length;
  }

  /** Returns whether there was a further member. */
  #begin(): boolean {
    const { line } = this.#cursor;
    const planned = this.#plan.next();
    if (planned === undefined) return false;
    const { member, next } = planned;
    this.#nextLine = next;
    const add = this.#addition(member, line);
    if (add === undefined) this.#cursor = { ...this.#cursor, line: next };
    else add();
    return true;
  }

  /** Reads the beginning of the member, and returns what adds it; undefined if its file cannot be read: it is left out. */
  #addition(member: PlannedMember, line: number): (() => void) | undefined {
    try {
      if (this.#isBody(member)) {
        const version = versionNow(member, this.#cursor.roots);
        return () => {
          this.#addBody(member, line, version);
        };
      }
      const first = this.#chunk(member, 0);
      return () => {
        if (isWhole(member) && first.length === contentSize(member)) this.#addWhole(member, first);
        else this.#addFirst(member, line, first);
      };
    } catch (error) {
      if (member.content === undefined || !('file' in member.content)) throw error;
      this.#warnings.push(`Could not export file ${member.path}: ${unreadableBecause(error)}`);
      return undefined;
    }
  }

  #isBody(member: PlannedMember): boolean {
    const { kind, content } = member;
    const { bodies } = this.#cursor;
    if (kind !== 'file' || content === undefined || bodies === 'none' || isWhole(member)) return false;
    return 'file' in content || ('stored' in content && bodies === 'all');
  }

  #addWhole(member: PlannedMember, content: Buffer): void {
    const { held } = this.#cursor;
    const start = this.#startOf(member, this.#position);
    const head = beginContent(held, start.compression, content.length);
    const encoded = encodeContent(held, start.compression, content, true);
    const size = content.length;
    const sums = { crc32: crc32(content), size, compressedSize: head.length + encoded.length };
    this.#room.add(localHeader(start, sums));
    this.#room.add(head);
    this.#room.add(encoded);
    this.#room.count(size);
    this.#finish(directoryRecord(start, sums, true));
  }

  /** The piece ends with the body, so that the caller puts it there. */
  #addBody(member: PlannedMember, line: number, version: string | undefined): void {
    const { plan, roots } = this.#cursor;
    this.#open(member, line, { version });
    const { size, content } = member;
    const file = content !== undefined && 'file' in content ? content.file : undefined;
    const { compression } = this.#startOf(member, 0);
    this.#body = { plan, roots, line, size, file, compression, isLast: true };
  }

  #addFirst(member: PlannedMember, line: number, first: Buffer): void {
    const inner = this.#innerOf(member);
    const open = this.#open(member, line, { inner });
    if (inner !== undefined) this.#addInner(member, open, inner);
    else this.#addChunks(member, open, first);
  }

  #open(member: PlannedMember, line: number, { inner, version }: Partial<OpenMember>): OpenMember {
    const start = this.#startOf(member, this.#position);
    this.#room.add(localHeader(start));
    const head = beginContent(this.#cursor.held, start.compression, contentSize(member));
    this.#room.add(head);
    const sums = { crc32: 0, size: 0, compressedSize: head.length };
    const open = { line, start: start.start, inner, version, ...sums };
    this.#cursor = { ...this.#cursor, open };
    return open;
  }

  /** The beginning of a member that is an archive. Such an archive has no further one in it, or a plan could hold itself. */
  #innerOf({ content }: PlannedMember): ZipCursor | undefined {
    if (content === undefined || !('archive' in content)) return undefined;
    const { roots, isInner, bodies } = this.#cursor;
    if (isInner) throw new Error('the plan of the archive is nested too deep');
    return { ...firstCursor(plannedPath(roots, content.archive), roots, 'none', bodies), isInner: true };
  }

  #goOn(open: OpenMember): void {
    const planned = this.#plan.next();
    if (planned === undefined) throw new Error('the plan of the archive is cut off');
    const { member, next } = planned;
    this.#nextLine = next;
    if (open.inner !== undefined) this.#addInner(member, open, open.inner);
    else if (open.size === contentSize(member)) this.#endBody(member, open);
    else this.#addChunks(member, open, this.#chunk(member, open.size));
  }

  #endBody(member: PlannedMember, open: OpenMember): void {
    if (versionNow(member, this.#cursor.roots) !== open.version)
      throw new Error(`${member.path} has changed while it was put into an archive`);
    this.#finishOpen(member, open);
  }

  /** Adds chunks until the piece is full or the member complete. */
  #addChunks(member: PlannedMember, before: OpenMember, first: Buffer): void {
    const size = contentSize(member) ?? 0;
    let open = before;
    for (let chunk = first; ; chunk = this.#chunk(member, open.size)) {
      if (chunk.length < Math.min(CHUNK, size - open.size)) {
        throw new Error(`${member.path} has become shorter while it was put into an archive`);
      }
      const isLast = open.size + chunk.length === size;
      open = this.#add(member, open, chunk, isLast);
      if (isLast) this.#finishOpen(member, open);
      if (isLast || this.#room.isEnough) return;
    }
  }

  #addInner(member: PlannedMember, before: OpenMember, first: ZipCursor): void {
    let open = before;
    for (let inner: ZipCursor | undefined = first; inner !== undefined; inner = open.inner) {
      const { bytes, body, cursor, warnings } = nextPiece(inner);
      this.#warnings.push(...warnings);
      const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      open = this.#add(member, { ...open, inner: cursor }, content, cursor === undefined);
      if (cursor === undefined) this.#finishOpen(member, open);
      if (body !== undefined) {
        const { compression } = this.#startOf(member, open.start);
        this.#body = { ...body, compression, isLast: false };
      }
      if (body !== undefined || this.#room.isEnough) return;
    }
  }

  #chunk(member: PlannedMember, position: number): Buffer {
    const length = Math.min(CHUNK, (contentSize(member) ?? 0) - position);
    return readContent(member, this.#cursor.roots, position, length);
  }

  #add(member: PlannedMember, open: OpenMember, content: Buffer, isLast: boolean): OpenMember {
    const { compression } = this.#startOf(member, open.start);
    const encoded = encodeContent(this.#cursor.held, compression, content, isLast);
    this.#room.add(encoded);
    this.#room.count(content.length);
    const changed = {
      ...open,
      crc32: crc32(content, open.crc32),
      size: open.size + content.length,
      compressedSize: open.compressedSize + encoded.length,
    };
    this.#cursor = { ...this.#cursor, open: changed };
    return changed;
  }

  #finishOpen(member: PlannedMember, open: OpenMember): void {
    const start = this.#startOf(member, open.start);
    this.#room.add(descriptor(start, open));
    this.#finish(directoryRecord(start, open, false));
  }

  #finish(record: Buffer): void {
    this.#records.push(record);
    const { members } = this.#cursor;
    this.#cursor = { ...this.#cursor, line: this.#nextLine, open: undefined, members: members + 1 };
  }

  #startOf(member: PlannedMember, start: number): MemberStart {
    return memberStart(member, this.#cursor.compression, start);
  }

  #keepRecords(): void {
    if (this.#records.length === 0) return;
    const records = Buffer.concat(this.#records);
    const { directory } = this.#cursor;
    this.#directory.keep(records, directory);
    this.#records = [];
    this.#cursor = { ...this.#cursor, directory: directory + records.length };
  }

  /** Returns whether the archive is complete. */
  #sendDirectory(): boolean {
    this.#keepRecords();
    const { members, directory, sent } = this.#cursor;
    if (sent < directory) {
      const records = this.#directory.read(sent, Math.min(CHUNK, directory - sent));
      this.#room.add(records);
      this.#cursor = { ...this.#cursor, sent: sent + records.length };
      return false;
    }
    this.#room.add(endRecords(members, this.#position - directory, directory));
    this.#directory.remove();
    return true;
  }
}

/** Spare memory of a piece. */
const SPARE = 1024;

/** The bytes of one piece. */
class PieceRoom {
  readonly #usual: number;
  readonly #mostRead: number;
  #memory: Uint8Array;
  #length = 0;
  #read = 0;

  /** A piece has about `usual` bytes; it may have fewer if `mostRead` bytes were read for it. */
  constructor(usual: number, mostRead: number, room: SharedArrayBuffer | undefined) {
    this.#usual = usual;
    this.#mostRead = mostRead;
    this.#memory = room === undefined ? new Uint8Array(usual + SPARE) : new Uint8Array(room);
  }

  get isEnough(): boolean {
    return this.#length >= this.#usual || (this.#read >= this.#mostRead && this.#length > 0);
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): Uint8Array {
    return this.#memory.subarray(0, this.#length);
  }

  /** Counts bytes that were read for this piece. */
  count(read: number): void {
    this.#read += read;
  }

  add(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#memory.length) this.#grow(this.#length + bytes.length);
    this.#memory.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #grow(least: number): void {
    const memory = new Uint8Array(Math.max(least + SPARE, this.#memory.length * 2));
    memory.set(this.#memory.subarray(0, this.#length));
    this.#memory = memory;
  }
}
