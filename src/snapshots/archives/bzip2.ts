/**
 * bzip2 by libbz2 of this host. A stream is known by the address of its structure, so any thread can go on with it.
 * Runs in worker threads.
 */
import {
  freeStream,
  newStream,
  stepStream,
  type StreamCall,
  type StreamStep,
  systemLibrary,
} from './native-stream.js';
import { MemberDamage } from './zip-member.js';

export interface Bzip2Library {
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

/** Of bz_stream, where pointers have 64 bits. */
export const BZ_STREAM_SIZE = 80;
export const BZIP2_RESULTS = { ok: 0, runs: 1, finishes: 3, end: 4, noMemory: -3 } as const;

const ACTIONS = { run: 0, finish: 2 } as const;
/** Debian and Ubuntu, other Linux, macOS. */
const NAMES = ['libbz2.so.1.0', 'libbz2.so.1', 'libbz2.1.0.dylib', 'libbz2.dylib'];

let loaded: Bzip2Library | undefined;

/** Refuses (409) where the library is missing. */
export function bzip2Library(): Bzip2Library {
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

/** The memory of a stream is eight times as much; a shorter content needs no larger block. */
const BLOCK_STEP = 100_000;
const MOST_STEPS = 9;
const NOTHING = Buffer.alloc(0);
/** Of the step that this thread is at: what comes out is copied from here. */
const room = Buffer.allocUnsafeSlow(128 * 1024);

/** `size`: of the content, if known. Refuses (409) where the library is missing. */
export function newBzip2Stream(size = Infinity): number {
  const { beginCompressing } = bzip2Library();
  const steps = Math.max(1, Math.min(MOST_STEPS, Math.ceil(size / BLOCK_STEP)));
  return newStream(BZ_STREAM_SIZE, (address) => {
    const result = beginCompressing(address, steps, 0, 0);
    if (result !== BZIP2_RESULTS.ok) throw new Error(`bzip2 could not begin: error ${result}`);
  });
}

/** Maybe nothing yet: much is kept until more follows, or the last. */
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

/** Whether it has come to its end or not. */
export function freeBzip2Stream(address: number): void {
  freeStream(address, bzip2Library().endCompressing);
}

const ROOM = 256 * 1024;

/** Several streams, one behind the other, are read as one. */
export class Bzip2Decoder {
  readonly #library = bzip2Library();
  readonly #room = Buffer.allocUnsafeSlow(ROOM);
  /** 0 between streams. */
  #address = 0;

  /** The bytes are valid only within the call. */
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

  /** All of the input has been given. */
  finish(): void {
    if (this.#address !== 0) throw new MemberDamage('its compressed content ends too early');
  }

  /** Needed after a failure too; does no harm twice. */
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
