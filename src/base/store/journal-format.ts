/**
 * The octets of a journal: two heads, a page each, then frames one after the other, then zeros. A frame is one commit,
 * or one part of the base, which is all that the store held when the journal was begun. Everything has a checksum.
 */
import { crc32 } from 'node:zlib';
import { pack, unpack } from 'msgpackr';
import type { Change, Key } from './store.js';

/** 1 was LMDB's. */
const FORMAT = 2;
export const HEAD_PLACES = [0, 4096] as const;
export const FRAMES_START = 8192;
export const FRAME_HEAD_LENGTH = 16;
export const HEAD_LENGTH = 48;
const MAGIC = 'WFSTORE\n';
const CHANGE_HEAD_LENGTH = 7;
const LONGEST_KEY = 4096;

/** What is said twice at the start of a journal, in turns, so that one of them is always whole. */
export interface JournalHead {
  /** Enters every checksum, so that nothing older on the same place of the disk is taken for a frame. */
  readonly salt: number;
  /** The number of the last commit that is part of the base, which ends at `baseEnd`. */
  readonly base: number;
  readonly baseEnd: number;
  /** Up to here all was acknowledged when the head was written, a second ago at most when others came later. */
  readonly marked: number;
}

/** One change as a journal holds it. */
export interface RawChange {
  readonly kind: 'put' | 'remove' | 'clear';
  readonly key: Key;
  /** Packed; empty unless it is put. */
  readonly value: Uint8Array;
}

/** Where a value lies in a journal. */
export interface Place {
  readonly position: number;
  readonly length: number;
  readonly checksum: number;
}

export interface JournalEntry extends Pick<RawChange, 'kind' | 'key'> {
  readonly place: Place;
  /** Of the whole entry. */
  readonly octets: number;
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

/** Whether these octets, which begin with the head of a frame, are that frame whole. */
export function isFrame(octets: Buffer, salt: number, number: number): boolean {
  return octets.readUIntLE(8, 6) === number && octets.readUInt32LE(4) === frameChecksum(octets, salt);
}

/** With its head; what is no head of a frame says anything. */
export function frameLength(head: Buffer): number {
  return FRAME_HEAD_LENGTH + head.readUInt32LE(0);
}

/** What a whole frame says, which lies at `position` of its journal. */
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
      octets: end - at,
    };
    at = end;
  }
}

export function isValue(octets: Uint8Array, place: Place): boolean {
  return octets.length === place.length && (crc32(octets) | 0) === place.checksum;
}

export function encodeHead(head: JournalHead): Buffer {
  const octets = Buffer.alloc(HEAD_LENGTH);
  octets.write(MAGIC, 'latin1');
  octets.writeUInt32LE(FORMAT, 8);
  octets.writeUInt32LE(head.salt, 12);
  octets.writeUIntLE(head.base, 16, 6);
  octets.writeUIntLE(head.baseEnd, 24, 6);
  octets.writeUIntLE(head.marked, 32, 6);
  octets.writeUInt32LE(headChecksum(octets), 40);
  return octets;
}

/** Undefined for what is no whole head. Throws for one of another format. */
export function decodeHead(octets: Buffer): JournalHead | undefined {
  const isWhole =
    octets.length === HEAD_LENGTH &&
    octets.toString('latin1', 0, MAGIC.length) === MAGIC &&
    octets.readUInt32LE(40) === headChecksum(octets);
  if (!isWhole) return undefined;
  if (octets.readUInt32LE(8) !== FORMAT) throw otherFormat(octets.readUInt32LE(8));
  return {
    salt: octets.readUInt32LE(12),
    base: octets.readUIntLE(16, 6),
    baseEnd: octets.readUIntLE(24, 6),
    marked: octets.readUIntLE(32, 6),
  };
}

export function otherFormat(format: unknown): Error {
  return new Error(
    `The state folder has format ${JSON.stringify(format)}, this Wirefarm reads format ${FORMAT}`,
  );
}

function frameChecksum(frame: Buffer, salt: number): number {
  return crc32(frame.subarray(8), salt);
}

function headChecksum(octets: Buffer): number {
  return crc32(octets.subarray(0, 40));
}
