/** Decodes the content of archive members piece by piece, and checks it. Runs in worker threads. */
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { refusals } from '../../base/errors/errors.js';
import { Bzip2Decoder } from './bzip2.js';
import { MemberDamage, type ZipMember } from './zip-member.js';
import { LzmaDecoder } from './lzma.js';
import { readAt } from './read-window.js';

type Use = (bytes: Uint8Array) => void;

/** A decoder by a library of the system. */
interface Decoder {
  decode(input: Uint8Array, use: Use): void;
  finish(): void;
  close(): void;
}

const PIECE = 1024 * 1024;
/** The most input of a decoder at once. */
const INPUT = 256 * 1024;

/**
 * Decodes a member in pieces of at most 1 MiB, which are valid only within the call of `use`. Refuses (409) damaged
 * content, at the latest when it gets longer than the directory says; until then `use` may get wrong bytes.
 */
export async function readMember(fd: number, member: ZipMember, use: Use): Promise<void> {
  const check = new ContentCheck(member, use);
  try {
    await decode(fd, member, check.take);
    check.finish();
  } catch (error) {
    throw error instanceof MemberDamage ? refusals.importRefused(member.path, error.message) : error;
  }
}

/** Refuses (409) a member that is longer than the limit. */
export async function readSmallMember(fd: number, member: ZipMember, limit: number): Promise<Buffer> {
  if (member.size > limit) {
    throw refusals.importRefused(member.path, `it is longer than the ${limit} bytes that are allowed`);
  }
  const pieces: Buffer[] = [];
  await readMember(fd, member, (bytes) => {
    pieces.push(Buffer.from(bytes));
  });
  return Buffer.concat(pieces);
}

class ContentCheck {
  readonly #member: ZipMember;
  readonly #use: Use;
  #length = 0;
  #crc32 = 0;

  constructor(member: ZipMember, use: Use) {
    this.#member = member;
    this.#use = use;
  }

  readonly take = (bytes: Uint8Array): void => {
    this.#length += bytes.length;
    if (this.#length > this.#member.size) {
      throw new MemberDamage(`more comes out of it than the ${this.#member.size} bytes that it should have`);
    }
    this.#crc32 = crc32(bytes, this.#crc32);
    if (bytes.length > 0) this.#use(bytes);
  };

  finish(): void {
    const { size, crc32: expected } = this.#member;
    if (this.#length < size) throw new MemberDamage(`it has ${this.#length} bytes instead of ${size}`);
    if (this.#crc32 !== expected) throw new MemberDamage('its content is damaged: the checksum differs');
  }
}

async function decode(fd: number, member: ZipMember, take: Use): Promise<void> {
  switch (member.compression) {
    case 'none':
      for (const piece of pieces(fd, member, PIECE)) take(piece);
      return;
    case 'zip':
      if (Math.max(member.size, member.compressedSize) > PIECE) await inflate(fd, member, take);
      else inflateAtOnce(fd, member, take);
      return;
    case 'bzip2':
      decodeWith(new Bzip2Decoder(), fd, member, take);
      return;
    case 'lzma':
      decodeWith(new LzmaDecoder(member.size), fd, member, take);
      return;
  }
}

function decodeWith(decoder: Decoder, fd: number, member: ZipMember, take: Use): void {
  try {
    for (const piece of pieces(fd, member, INPUT)) decoder.decode(piece, take);
    decoder.finish();
  } finally {
    decoder.close();
  }
}

/** The result of the option `info`, which the types of Node.js lack. */
interface Inflated {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

/** For short content, an asynchronous stream costs more than the work. */
function inflateAtOnce(fd: number, member: ZipMember, take: Use): void {
  for (const piece of pieces(fd, member, PIECE)) {
    const { bytes, taken } = inflateWhole(piece, member.size);
    take(bytes);
    checkTaken(taken, member);
  }
}

function inflateWhole(piece: Uint8Array, size: number): { bytes: Uint8Array; taken: number } {
  try {
    // One byte more than there should be, to notice content that is longer.
    const inflated: unknown = inflateRawSync(piece, { info: true, maxOutputLength: size + 1 });
    const { buffer, engine } = inflated as Inflated;
    return { bytes: buffer, taken: engine.bytesWritten };
  } catch (error) {
    throw inflateDamage(error);
  }
}

async function inflate(fd: number, member: ZipMember, take: Use): Promise<void> {
  const inflating = createInflateRaw({ chunkSize: PIECE });
  const ended = finished(inflating, { writable: false });
  // It may fail when nothing awaits it any more.
  ended.catch(() => undefined);
  let failure: unknown;
  inflating.on('data', (bytes: Uint8Array) => {
    try {
      take(bytes);
    } catch (error) {
      failure ??= error;
      inflating.destroy();
    }
  });
  try {
    for (const piece of pieces(fd, member, INPUT)) {
      if (!inflating.write(piece)) await Promise.race([once(inflating, 'drain'), ended]);
      if (inflating.readableEnded) break;
    }
    inflating.end();
    await ended;
  } catch (error) {
    throw failure ?? inflateDamage(error);
  } finally {
    inflating.destroy();
  }
  checkTaken(inflating.bytesWritten, member);
}

function checkTaken(taken: number, { compressedSize }: ZipMember): void {
  if (taken < compressedSize)
    throw new MemberDamage('there is something behind the end of its compressed content');
}

function inflateDamage(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ERR_BUFFER_TOO_LARGE') return new MemberDamage('more comes out of it than it should have');
  if (code === 'Z_BUF_ERROR') return new MemberDamage('its compressed content ends too early');
  if (code === 'Z_DATA_ERROR') return new MemberDamage('its compressed content is damaged');
  return error;
}

/** The compressed bytes of a member. */
function* pieces(fd: number, { position, compressedSize }: ZipMember, length: number): Generator<Buffer> {
  for (let done = 0; done < compressedSize; done += length) {
    const wanted = Math.min(length, compressedSize - done);
    const piece = readAt(fd, position + done, wanted);
    if (piece.length < wanted) throw new MemberDamage('the archive ends within it');
    yield piece;
  }
}
