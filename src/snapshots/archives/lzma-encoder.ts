/** LZMA by the library of this host. Every stream is known by its address; any thread can go on with it. */
import koffi from 'koffi';
import { LZMA_RESULTS, LZMA_STREAM_SIZE, lzmaLibrary } from './lzma-library.js';
import { freeStream, newStream, stepStream } from './native-stream.js';

export interface LzmaStream {
  readonly address: number;
  /** What a zip archive has before the compressed content. */
  readonly head: Buffer<ArrayBuffer>;
}

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
/** Of the step that this thread is at: what comes out is copied from here. */
const room = Buffer.allocUnsafeSlow(128 * 1024);

/** `size`: of the content, if known. Refuses (409) where the library is missing. */
export function newLzmaStream(size = Infinity): LzmaStream {
  const { preset, beginEncoding } = lzmaLibrary();
  const options = Buffer.alloc(OPTIONS.size);
  if (preset(options, PRESET) !== 0) throw new Error(`lzma does not know preset ${PRESET}`);
  options.writeUInt32LE(dictionaryFor(size), OPTIONS.dictionary);
  const filters = Buffer.alloc(32);
  filters.writeBigUInt64LE(LZMA1, 0);
  filters.writeBigUInt64LE(koffi.address(options), 8);
  filters.writeBigUInt64LE(NO_FILTER, 16);
  const address = newStream(LZMA_STREAM_SIZE, (to) => {
    const result = beginEncoding(to, filters);
    if (result !== LZMA_RESULTS.ok) throw new Error(`lzma could not begin: error ${result}`);
  });
  return { address, head: headOf(options) };
}

/** Maybe nothing yet: much is kept until more follows, or the last. */
export function compressLzma(address: number, bytes: Uint8Array, isLast: boolean): Buffer<ArrayBuffer> {
  const { run, finish } = lzmaLibrary();
  const outputs: Buffer[] = [];
  for (let rest = bytes, isOver = rest.length === 0 && !isLast; !isOver;) {
    const step = stepStream(address, isLast ? finish : run, rest, room);
    if (step.result !== LZMA_RESULTS.ok && step.result !== LZMA_RESULTS.end)
      throw new Error(`lzma could not go on: error ${step.result}`);
    outputs.push(Buffer.from(step.output));
    rest = step.rest;
    isOver = isLast ? step.result === LZMA_RESULTS.end : rest.length === 0;
  }
  return Buffer.concat(outputs);
}

/** Whether it has come to its end or not. */
export function freeLzmaStream(address: number): void {
  freeStream(address, lzmaLibrary().end);
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
