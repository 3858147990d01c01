/**
 * A stream of a system library that compresses. All of its state lies in memory that no thread owns, so any thread
 * can go on with it that knows its address.
 */
import koffi from 'koffi';

/** Where the structure has what every such structure has. */
export interface StreamShape {
  readonly size: number;
  readonly nextInput: number;
  readonly inputLength: number;
  readonly nextOutput: number;
  readonly outputLength: number;
  /** The lengths have 64 bits, not 32. */
  readonly isLong: boolean;
}

/** One call of the library with the address of the structure. */
export type StreamCall = (address: number) => number;

export interface StreamStep {
  readonly result: number;
  readonly inputLeft: number;
  /** The structure keeps nothing of it. */
  readonly output: Buffer<ArrayBuffer>;
}

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

/** The address of a structure of zeros. */
export function newStream({ size }: StreamShape): number {
  const address = allocate(1, size);
  if (address === 0) throw new Error('there is no memory left');
  return address;
}

/** The library has ended with it. */
export function freeStream(address: number): void {
  free(address);
}

/** Hands the library this input, and room for so much output. */
export function stepStream(
  shape: StreamShape,
  address: number,
  call: StreamCall,
  input: Uint8Array,
  room: number,
): StreamStep {
  const output = Buffer.allocUnsafeSlow(room);
  const fields = Buffer.allocUnsafeSlow(shape.size);
  fromNative(fields, address, shape.size);
  fields.writeBigUInt64LE(koffi.address(input), shape.nextInput);
  fields.writeBigUInt64LE(koffi.address(output), shape.nextOutput);
  writeLength(shape, fields, shape.inputLength, input.length);
  writeLength(shape, fields, shape.outputLength, room);
  toNative(address, fields, shape.size);
  const result = call(address);
  fromNative(fields, address, shape.size);
  const written = room - readLength(shape, fields, shape.outputLength);
  return {
    result,
    inputLeft: readLength(shape, fields, shape.inputLength),
    output: output.subarray(0, written),
  };
}

function writeLength({ isLong }: StreamShape, fields: Buffer, offset: number, length: number): void {
  if (isLong) fields.writeBigUInt64LE(BigInt(length), offset);
  else fields.writeUInt32LE(length, offset);
}

function readLength({ isLong }: StreamShape, fields: Buffer, offset: number): number {
  return isLong ? Number(fields.readBigUInt64LE(offset)) : fields.readUInt32LE(offset);
}
