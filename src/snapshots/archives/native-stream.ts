/**
 * Streams of libbz2 and liblzma, the libraries of this host that compress in ways Node.js does not. All state of a
 * stream lies in memory that no thread owns, so any thread that knows its address can go on with it.
 */
import koffi from 'koffi';
import { refusals } from '../../base/errors/errors.js';

/** One call of the library with the address of the structure. */
export type StreamCall = (address: number) => number;

export interface StreamStep {
  readonly result: number;
  /** The input that the library has not consumed yet. */
  readonly rest: Uint8Array;
  /** The part of the room that was filled. */
  readonly output: Uint8Array;
  /** All input is consumed, and all output for it has been returned. */
  readonly isStarved: boolean;
}

/**
 * Offsets of fields. bz_stream and lzma_stream begin alike where pointers have 64 bits. The lengths of lzma_stream have
 * 64 bits as well: these are their lower halves, and the upper halves stay zero.
 */
const FIELDS = { nextInput: 0, inputLength: 8, nextOutput: 24, outputLength: 32, end: 36 } as const;

const libc = koffi.load(null);
const allocate = libc.func('uintptr_t calloc(size_t, size_t)') as (count: number, size: number) => number;
const free = libc.func('void free(uintptr_t)') as (address: number) => void;
const toNative = libc.func('uintptr_t memcpy(uintptr_t, const uint8_t *, size_t)') as (
  address: number,
  bytes: Uint8Array,
  length: number,
) => number;
const fromNative = libc.func('uintptr_t memcpy(uint8_t *, uintptr_t, size_t)') as (
  bytes: Uint8Array,
  address: number,
  length: number,
) => number;

/** The fields of the stream, for the current step of this thread. */
const fields = Buffer.from(new ArrayBuffer(FIELDS.end));

/** Returns the address of a zeroed structure of this size that `begin` has initialized; frees it when `begin` throws. */
export function newStream(size: number, begin: (address: number) => void): number {
  const address = allocate(1, size);
  if (address === 0) throw new Error('there is no memory left');
  try {
    begin(address);
    return address;
  } catch (error) {
    free(address);
    throw error;
  }
}

/** `end` is the call by which the library frees its own memory. */
export function freeStream(address: number, end: (address: number) => unknown): void {
  end(address);
  free(address);
}

/** Lends the library this input and this room for output, for one call. */
export function stepStream(
  address: number,
  call: StreamCall,
  input: Uint8Array,
  room: Uint8Array,
): StreamStep {
  fromNative(fields, address, FIELDS.end);
  fields.writeBigUInt64LE(koffi.address(input), FIELDS.nextInput);
  fields.writeUInt32LE(input.length, FIELDS.inputLength);
  fields.writeBigUInt64LE(koffi.address(room), FIELDS.nextOutput);
  fields.writeUInt32LE(room.length, FIELDS.outputLength);
  toNative(address, fields, FIELDS.end);
  const result = call(address);
  fromNative(fields, address, FIELDS.end);
  const inputLeft = fields.readUInt32LE(FIELDS.inputLength);
  const outputLeft = fields.readUInt32LE(FIELDS.outputLength);
  return {
    result,
    rest: input.subarray(input.length - inputLeft),
    output: room.subarray(0, room.length - outputLeft),
    isStarved: inputLeft === 0 && outputLeft > 0,
  };
}

type SystemLibrary = ReturnType<typeof koffi.load>;

/** Loads the first of these names that exists; refuses (409) if none does. `method` is the client's name for the compression. */
export function systemLibrary(
  method: string,
  names: readonly string[],
  debianPackage: string,
): SystemLibrary {
  for (const name of names) {
    try {
      return koffi.load(name);
    } catch {
      // It does not exist, or is no library.
    }
  }
  throw refusals.libraryMissing(method, (names[0] ?? '').replace(/\.so.*$/, ''), debianPackage);
}
