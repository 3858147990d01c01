/**
 * bzip2 by libbz2 of this host. A stream is known by the address of its structure, so any thread can go on with it.
 * Runs in worker threads.
 */
import {
  freeStream,
  newStream,
  stepStream,
  systemLibrary,
  type StreamCall,
  type StreamStep,
} from './native-stream.js';
import { MemberDamage } from './zip-member.js';

interface Bzip2Library {
  readonly beginCompressing: (
    address: number,
    blockSteps: number,
    verbosity: number,
    workFactor: number,
  ) => number;
  readonly compress: StreamCall;
  readonly finishCompressing: StreamCall;
  readonly endCompressing: StreamCall;
  readonly beginDecompressing: (address: number, verbosity: number, isSmall: number) => number;
  readonly decompress: StreamCall;
  readonly endDecompressing: StreamCall;
}

/** The size of bz_stream where pointers have 64 bits. */
const BZ_STREAM_SIZE = 80;
const BZIP2_RESULTS = { ok: 0, runs: 1, finishes: 3, end: 4, noMemory: -3 } as const;

const ACTIONS = { run: 0, finish: 2 } as const;
/** On Debian and Ubuntu, other Linux, macOS. */
const NAMES = ['libbz2.so.1.0', 'libbz2.so.1', 'libbz2.1.0.dylib', 'libbz2.dylib'];

let loaded: Bzip2Library | undefined;

/** Refuses (409) where the library is missing. */
function bzip2Library(): Bzip2Library {
  loaded ??= load();
  return loaded;
}

function load(): Bzip2Library {
  const library = systemLibrary('bzip2', NAMES, 'libbz2-1.0');
  const compress = library.func('int BZ2_bzCompress(uintptr_t, int)') as (
    address: number,
    action: number,
  ) => number;
  return {
    beginCompressing: library.func(
      'int BZ2_bzCompressInit(uintptr_t, int, int, int)',
    ) as Bzip2Library['beginCompressing'],
    compress: (address) => compress(address, ACTIONS.run),
    finishCompressing: (address) => compress(address, ACTIONS.finish),
    endCompressing: library.func('int BZ2_bzCompressEnd(uintptr_t)') as StreamCall,
    beginDecompressing: library.func(
      'int BZ2_bzDecompressInit(uintptr_t, int, int)',
    ) as Bzip2Library['beginDecompressing'],
    decompress: library.func('int BZ2_bzDecompress(uintptr_t)') as StreamCall,
    endDecompressing: library.func('int BZ2_bzDecompressEnd(uintptr_t)') as StreamCall,
  };
}

/** A stream takes eight times the memory of its block, so a block is no larger than the content. */
const BLOCK_STEP = 100_000;
const MOST_STEPS = 9;
const NOTHING = Buffer.alloc(0);
/** Output of the current step of this thread; it is copied from here. */
const room = Buffer.allocUnsafeSlow(128 * 1024);

/** `size` is that of the content, if known. Refuses (409) where the library is missing. */
export function newBzip2Stream(size = Infinity): number {
  const { beginCompressing } = bzip2Library();
  const steps = Math.max(1, Math.min(MOST_STEPS, Math.ceil(size / BLOCK_STEP)));
  return newStream(BZ_STREAM_SIZE, (address) => {
    const result = beginCompressing(address, steps, 0, 0);
    if (result !== BZIP2_RESULTS.ok) throw new Error(`bzip2 could not begin: error ${result}`);
  });
}

/** Returns the output so far. It may be empty: the library buffers much of it until the last call. */
export function compressBzip2(address: number, bytes: Uint8Array, isLast: boolean): Buffer<ArrayBuffer> {
  const { compress, finishCompressing } = bzip2Library();
  const outputs: Buffer[] = [];
  const keep = ({ result, output }: StreamStep, ...expected: readonly number[]): void => {
    if (!expected.includes(result)) throw new Error(`bzip2 could not go on: error ${result}`);
    outputs.push(Buffer.from(output));
  };
  for (let rest = bytes; rest.length > 0;) {
    const step = stepStream(address, compress, rest, room);
    keep(step, BZIP2_RESULTS.runs);
    rest = step.rest;
  }
  for (let isOver = !isLast; !isOver;) {
    const step = stepStream(address, finishCompressing, NOTHING, room);
    keep(step, BZIP2_RESULTS.finishes, BZIP2_RESULTS.end);
    isOver = step.result === BZIP2_RESULTS.end;
  }
  return Buffer.concat(outputs);
}

/** Frees the stream, ended or not. */
export function freeBzip2Stream(address: number): void {
  freeStream(address, bzip2Library().endCompressing);
}

const ROOM = 256 * 1024;

/** Decompresses; several streams in a row are read as one. */
export class Bzip2Decoder {
  readonly #library = bzip2Library();
  readonly #room = Buffer.allocUnsafeSlow(ROOM);
  /** The current stream; 0 between streams. */
  #address = 0;

  /** `use` gets bytes that are valid only within its call. */
  decode(input: Uint8Array, use: (bytes: Uint8Array) => void): void {
    for (let rest = input; this.#address !== 0 || rest.length > 0;) {
      if (this.#address === 0) this.#address = this.#begin();
      const step = stepStream(this.#address, this.#library.decompress, rest, this.#room);
      const isAtEnd = step.result === BZIP2_RESULTS.end;
      if (!isAtEnd) check(step.result);
      use(step.output);
      if (isAtEnd) this.close();
      else if (step.isStarved) return;
      rest = step.rest;
    }
  }

  /** Call after the last input; throws if the stream has not ended. */
  finish(): void {
    if (this.#address !== 0) throw new MemberDamage('its compressed content ends too early');
  }

  /** Must be called, also after a failure; may be called twice. */
  close(): void {
    if (this.#address !== 0) freeStream(this.#address, this.#library.endDecompressing);
    this.#address = 0;
  }

  #begin(): number {
    return newStream(BZ_STREAM_SIZE, (address) => {
      check(this.#library.beginDecompressing(address, 0, 0));
    });
  }
}

function check(result: number): void {
  if (result === BZIP2_RESULTS.ok) return;
  if (result === BZIP2_RESULTS.noMemory) throw new Error('libbz2 has got no memory');
  throw new MemberDamage(`its content is damaged, as bzip2 says (${result})`);
}
