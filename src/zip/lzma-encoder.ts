/** LZMA by the library of this host. Every stream is known by its address; any thread can go on with it. */
import koffi from 'koffi';
import { freeStream, newStream, stepStream, type StreamCall, type StreamShape } from './native-stream.js';
import { systemLibrary } from './system-library.js';

export interface LzmaStream {
  readonly address: number;
  /** What a zip archive has before the compressed content. */
  readonly head: Buffer<ArrayBuffer>;
}

/** lzma_stream, where pointers have 64 bits. */
const SHAPE: StreamShape = {
  size: 136,
  nextInput: 0,
  inputLength: 8,
  nextOutput: 24,
  outputLength: 32,
  isLong: true,
};
/** Linux, macOS (Homebrew). */
const LIBRARY_NAMES = ['liblzma.so.5', 'liblzma.5.dylib', '/opt/homebrew/lib/liblzma.5.dylib'];
const ACTIONS = { run: 0, finish: 3 } as const;
const RESULTS = { ok: 0, end: 1 } as const;
/** That of `xz -6`; the memory of a stream is twelve times as much as its dictionary. */
const PRESET = 6;
const LARGEST_DICTIONARY = 8 * 1024 * 1024;
const SMALLEST_DICTIONARY = 4096;
const LZMA1 = 0x4000_0000_0000_0001n;
const NO_FILTER = 0xffff_ffff_ffff_ffffn;
/** lzma_options_lzma, with room behind it. */
const OPTIONS = { size: 256, dictionary: 0, lc: 20, lp: 24, pb: 28 } as const;
/** Of the software that the form of the head is known by. */
const HEAD_VERSION = [9, 4];
const HEAD = { size: 9, length: 2, first: 4, dictionary: 5 } as const;
const PROPERTIES_LENGTH = 5;
const ROOM = 128 * 1024;

interface Calls {
  readonly preset: (options: Uint8Array, preset: number) => number;
  readonly begin: (address: number, filters: Uint8Array) => number;
  readonly code: (address: number, action: number) => number;
  readonly end: StreamCall;
}

let loaded: Calls | undefined;

/** `size`: of the content, if known. Refuses (409) where the library is missing. */
export function newLzmaStream(size = Infinity): LzmaStream {
  const { preset, begin } = calls();
  const options = Buffer.alloc(OPTIONS.size);
  if (preset(options, PRESET) !== 0) throw new Error(`lzma does not know preset ${PRESET}`);
  options.writeUInt32LE(dictionaryFor(size), OPTIONS.dictionary);
  const filters = Buffer.alloc(32);
  filters.writeBigUInt64LE(LZMA1, 0);
  filters.writeBigUInt64LE(koffi.address(options), 8);
  filters.writeBigUInt64LE(NO_FILTER, 16);
  const address = newStream(SHAPE);
  const result = begin(address, filters);
  if (result === RESULTS.ok) return { address, head: headOf(options) };
  freeStream(address);
  throw new Error(`lzma could not begin: error ${result}`);
}

/** Maybe nothing yet: much is kept until more follows, or the last. */
export function compressLzma(address: number, bytes: Uint8Array, isLast: boolean): Buffer<ArrayBuffer> {
  const { code } = calls();
  const outputs: Buffer[] = [];
  const call: StreamCall = (to) => code(to, isLast ? ACTIONS.finish : ACTIONS.run);
  for (let left = bytes.length, isOver = left === 0 && !isLast; !isOver;) {
    const step = stepStream(SHAPE, address, call, bytes.subarray(bytes.length - left), ROOM);
    if (step.result !== RESULTS.ok && step.result !== RESULTS.end)
      throw new Error(`lzma could not go on: error ${step.result}`);
    outputs.push(step.output);
    left = step.inputLeft;
    isOver = isLast ? step.result === RESULTS.end : left === 0;
  }
  return Buffer.concat(outputs);
}

/** Whether it has come to its end or not. */
export function freeLzmaStream(address: number): void {
  calls().end(address);
  freeStream(address);
}

/** No larger than the content: a stream for a small file costs little. */
function dictionaryFor(size: number): number {
  let dictionary = SMALLEST_DICTIONARY;
  while (dictionary < size && dictionary < LARGEST_DICTIONARY) dictionary *= 2;
  return dictionary;
}

function headOf(options: Buffer): Buffer<ArrayBuffer> {
  const [lc, lp, pb] = [OPTIONS.lc, OPTIONS.lp, OPTIONS.pb].map((offset) => options.readUInt32LE(offset)) as [
    number,
    number,
    number,
  ];
  const head = Buffer.from([...HEAD_VERSION, ...Array<number>(HEAD.size - HEAD_VERSION.length).fill(0)]);
  head.writeUInt16LE(PROPERTIES_LENGTH, HEAD.length);
  head.writeUInt8((pb * 5 + lp) * 9 + lc, HEAD.first);
  head.writeUInt32LE(options.readUInt32LE(OPTIONS.dictionary), HEAD.dictionary);
  return head;
}

function calls(): Calls {
  if (loaded !== undefined) return loaded;
  const library = systemLibrary('lzma', LIBRARY_NAMES, 'liblzma5');
  loaded = {
    preset: library.func('uint8_t lzma_lzma_preset(uint8_t *, uint32_t)') as Calls['preset'],
    begin: library.func('int lzma_raw_encoder(uintptr_t, const uint8_t *)') as Calls['begin'],
    code: library.func('int lzma_code(uintptr_t, int)') as Calls['code'],
    end: library.func('void lzma_end(uintptr_t)') as Calls['end'],
  };
  return loaded;
}
