/**
 * Compresses the content of members piece by piece; any thread can do the next piece. For Deflate, each piece is
 * compressed by itself and ends at a byte, so that all pieces together are one stream (less than 1 % longer). The
 * streams of bzip2 and lzma lie in native memory that all threads share.
 */
import { constants, deflateRawSync } from 'node:zlib';
import { compressBzip2, freeBzip2Stream, newBzip2Stream } from './bzip2.js';
import { compressLzma, freeLzmaStream, newLzmaStream } from './lzma.js';
import type { Compression } from './zip-member.js';

/** The address of the current stream of an archive; 0 if there is none. */
export type HeldStream = BigInt64Array<SharedArrayBuffer>;

interface Encoder {
  /** `size` is that of the content, if known. */
  readonly begin?: (size: number | undefined) => { address: number; head: Uint8Array };
  readonly encode: (bytes: Buffer, isLast: boolean, address: number) => Buffer;
  readonly free?: (address: number) => void;
}

const NOTHING = Buffer.alloc(0);
const LEVEL = 6;
const SMALLEST_ROOM = 1024;

const ENCODERS: Readonly<Record<Compression, Encoder>> = {
  none: { encode: (bytes) => bytes },
  zip: { encode: deflate },
  bzip2: {
    begin: (size) => ({ address: newBzip2Stream(size), head: NOTHING }),
    encode: (bytes, isLast, address) => compressBzip2(address, bytes, isLast),
    free: freeBzip2Stream,
  },
  lzma: {
    begin: newLzmaStream,
    encode: (bytes, isLast, address) => compressLzma(address, bytes, isLast),
    free: freeLzmaStream,
  },
};

export function newHeldStream(): HeldStream {
  return new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
}

/** Returns the bytes that go before the compressed content. Refuses (409) where a library is missing. */
export function beginContent(held: HeldStream, compression: Compression, size?: number): Uint8Array {
  const { begin } = ENCODERS[compression];
  if (begin === undefined) return NOTHING;
  const { address, head } = begin(size);
  Atomics.store(held, 0, BigInt(address));
  return head;
}

/** `isLast` ends the stream. */
export function encodeContent(
  held: HeldStream,
  compression: Compression,
  bytes: Buffer,
  isLast: boolean,
): Buffer {
  const { begin, encode } = ENCODERS[compression];
  const address = Number(Atomics.load(held, 0));
  if (begin !== undefined && address === 0) throw new Error('the archive was given up');
  const encoded = encode(bytes, isLast, address);
  if (isLast) endContent(held, compression);
  return encoded;
}

/** Frees the stream, if there is one. */
export function endContent(held: HeldStream, compression: Compression): void {
  const { free } = ENCODERS[compression];
  const address = free === undefined ? 0n : Atomics.exchange(held, 0, 0n);
  if (address !== 0n) free?.(Number(address));
}

/** The last piece of zeros and its compressed form, since disk images are full of zeros. */
let zeros = { plain: NOTHING, encoded: NOTHING };

function deflate(bytes: Buffer, isLast: boolean): Buffer {
  const isZeros = !isLast && bytes.length > 0 && bytes[0] === 0 && bytes.equals(zerosOf(bytes.length));
  if (isZeros && zeros.encoded.length > 0) return zeros.encoded;
  const encoded = deflateRawSync(bytes, {
    level: LEVEL,
    finishFlush: isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH,
    chunkSize: Math.max(SMALLEST_ROOM, bytes.length >> 1),
  });
  if (isZeros) zeros.encoded = encoded;
  return encoded;
}

function zerosOf(length: number): Buffer {
  if (zeros.plain.length !== length) zeros = { plain: Buffer.alloc(length), encoded: NOTHING };
  return zeros.plain;
}
