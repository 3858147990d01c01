/**
 * The format of a journal: two heads of a page each, then frames one after the other, then zeros. A frame is one
 * commit, or a part of the base, which is the content of the store when the journal was begun. Everything has a
 * checksum.
 */
import { crc32 } from 'node:zlib';
import { pack, unpack } from 'msgpackr';
import type { Change, Key } from './store.js';

/** Format 1 was LMDB. */
export const FORMAT = 2;
export const HEAD_PLACES = [0, 4096] as const;
export const FRAMES_START = 8192;
export const FRAME_HEAD_LENGTH = 16;
export const HEAD_LENGTH = 48;
const MAGIC = 'WFSTORE\n';
const CHANGE_HEAD_LENGTH = 7;
const LONGEST_KEY = 4096;

/** There are two heads at the start of a journal. They are written in turns, so one of them is always whole. */
export interface JournalHead {
  /** Is part of every checksum, so that older bytes on the same blocks of the disk are not taken for a frame. */
  readonly salt: number;
  /** The number of the last commit that is part of the base, which ends at `baseEnd`. */
  readonly base: number;
  readonly baseEnd: number;
  /** All commits up to here were acknowledged when the head was written, at most a second before the last commit. */
  readonly marked: number;
}

/** One change as a journal stores it. */
export interface RawChange {
  readonly kind: 'put' | 'remove' | 'clear';
  readonly key: Key;
  /** The packed value of a put; empty for the other kinds. */
  readonly value: Uint8Array;
}

/** The place of a value in a journal. */
export interface Place {
  readonly position: number;
  readonly length: number;
  readonly checksum: number;
}

export interface JournalEntry extends Pick<RawChange, 'kind' | 'key'> {
  readonly place: Place;
  /** The length of the whole entry. */
  readonly bytes: number;
}

const KINDS = ['put', 'remove', 'clear'] as const;
const NOTHING = new Uint8Array();

export function rawChange(change: Change): RawChange {
  if ('put' in change) return { kind: 'put', key: change.put, value: pack(change.value) };
  return 'remove' in change
    ? { kind: 'remove', key: change.remove, value: NOTHING }
    : { kind: 'clear', key: change.clear, value: NOTHING };
}

export function encodeFrame(salt: number, number: number, changes: readonly RawChange[]): Buffer {
  const pieces: Uint8Array[] = [Buffer.alloc(FRAME_HEAD_LENGTH)];
  for (const { kind, key, value } of changes) {
    const packedKey = pack(key);
    if (packedKey.length > LONGEST_KEY)
      throw new Error(`A key of the store is too long: ${packedKey.length}`);
    const head = Buffer.alloc(CHANGE_HEAD_LENGTH);
    head.writeUInt8(KINDS.indexOf(kind), 0);
    head.writeUInt16LE(packedKey.length, 1);
    head.writeUInt32LE(value.length, 3);
    pieces.push(head, packedKey, value);
  }
  const frame = Buffer.concat(pieces);
  frame.writeUInt32LE(frame.length - FRAME_HEAD_LENGTH, 0);
  frame.writeUIntLE(number, 8, 6);
  frame.writeUInt32LE(frameChecksum(frame, salt), 4);
  return frame;
}

/** Whether these bytes are a whole frame with this number. */
export function isFrame(bytes: Buffer, salt: number, number: number): boolean {
  return bytes.readUIntLE(8, 6) === number && bytes.readUInt32LE(4) === frameChecksum(bytes, salt);
}

/** The length of a frame with its head. When the bytes are no head of a frame, this is any number. */
export function frameLength(head: Buffer): number {
  return FRAME_HEAD_LENGTH + head.readUInt32LE(0);
}

/** The entries of a whole frame at `position` of its journal. */
export function* entriesOf(frame: Buffer, position: number): Generator<JournalEntry> {
  let at = FRAME_HEAD_LENGTH;
  while (at < frame.length) {
    const kind = KINDS[frame.readUInt8(at)];
    if (kind === undefined) throw new Error('The journal of the store holds a change of an unknown kind');
    const keyStart = at + CHANGE_HEAD_LENGTH;
    const valueStart = keyStart + frame.readUInt16LE(at + 1);
    const end = valueStart + frame.readUInt32LE(at + 3);
    if (end > frame.length)
      throw new Error('The journal of the store holds a change that reaches beyond its commit');
    const checksum = crc32(frame.subarray(valueStart, end)) | 0;
    yield {
      kind,
      key: unpack(frame.subarray(keyStart, valueStart)) as string[],
      place: { position: position + valueStart, length: end - valueStart, checksum },
      bytes: end - at,
    };
    at = end;
  }
}

export function isValue(bytes: Uint8Array, place: Place): boolean {
  return bytes.length === place.length && (crc32(bytes) | 0) === place.checksum;
}

export function encodeHead(head: JournalHead): Buffer {
  const bytes = Buffer.alloc(HEAD_LENGTH);
  bytes.write(MAGIC, 'latin1');
  bytes.writeUInt32LE(FORMAT, 8);
  bytes.writeUInt32LE(head.salt, 12);
  bytes.writeUIntLE(head.base, 16, 6);
  bytes.writeUIntLE(head.baseEnd, 24, 6);
  bytes.writeUIntLE(head.marked, 32, 6);
  bytes.writeUInt32LE(headChecksum(bytes), 40);
  return bytes;
}

/** Undefined when the bytes are no whole head. Throws for a head of another format. */
export function decodeHead(bytes: Buffer): JournalHead | undefined {
  const isWhole =
    bytes.length === HEAD_LENGTH &&
    bytes.toString('latin1', 0, MAGIC.length) === MAGIC &&
    bytes.readUInt32LE(40) === headChecksum(bytes);
  if (!isWhole) return undefined;
  if (bytes.readUInt32LE(8) !== FORMAT) throw otherFormat(bytes.readUInt32LE(8));
  return {
    salt: bytes.readUInt32LE(12),
    base: bytes.readUIntLE(16, 6),
    baseEnd: bytes.readUIntLE(24, 6),
    marked: bytes.readUIntLE(32, 6),
  };
}

export function otherFormat(format: unknown): Error {
  return new Error(
    `The state folder has format ${JSON.stringify(format)}, this Wirefarm reads format ${FORMAT}: a newer one has written it`,
  );
}

function frameChecksum(frame: Buffer, salt: number): number {
  return crc32(frame.subarray(8), salt);
}

function headChecksum(bytes: Buffer): number {
  return crc32(bytes.subarray(0, 40));
}
