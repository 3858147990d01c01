/** bzip2 by the library of this host. Every stream is known by its address; any thread can go on with it. */
import { freeStream, newStream, stepStream, type StreamCall, type StreamShape } from './native-stream.js';
import { systemLibrary } from './system-library.js';

/** bz_stream, where pointers have 64 bits. */
const SHAPE: StreamShape = {
  size: 80,
  nextInput: 0,
  inputLength: 8,
  nextOutput: 24,
  outputLength: 32,
  isLong: false,
};
/** Debian and Ubuntu, other Linux, macOS. */
const LIBRARY_NAMES = ['libbz2.so.1.0', 'libbz2.so.1', 'libbz2.dylib'];
const ACTIONS = { run: 0, finish: 2 } as const;
const RESULTS = { runs: 1, finishes: 3, end: 4 } as const;
/** The memory of a stream is eight times as much; a shorter content needs no larger block. */
const BLOCK_STEP = 100_000;
const MOST_STEPS = 9;
const ROOM = 128 * 1024;

interface Calls {
  readonly init: (address: number, blockSteps: number, verbosity: number, workFactor: number) => number;
  readonly compress: (address: number, action: number) => number;
  readonly end: StreamCall;
}

let loaded: Calls | undefined;

/** `size`: of the content, if known. Refuses (409) where the library is missing. */
export function newBzip2Stream(size = Infinity): number {
  const { init } = calls();
  const address = newStream(SHAPE);
  const steps = Math.max(1, Math.min(MOST_STEPS, Math.ceil(size / BLOCK_STEP)));
  const result = init(address, steps, 0, 0);
  if (result === 0) return address;
  freeStream(address);
  throw new Error(`bzip2 could not begin: error ${result}`);
}

/** Maybe nothing yet: much is kept until more follows, or the last. */
export function compressBzip2(address: number, bytes: Uint8Array, isLast: boolean): Buffer<ArrayBuffer> {
  const { compress } = calls();
  const outputs: Buffer[] = [];
  const step = (action: number, input: Uint8Array, expected: readonly number[]): [number, number] => {
    const call: StreamCall = (to) => compress(to, action);
    const { result, inputLeft, output } = stepStream(SHAPE, address, call, input, ROOM);
    if (!expected.includes(result)) throw new Error(`bzip2 could not go on: error ${result}`);
    outputs.push(output);
    return [result, inputLeft];
  };
  for (let left = bytes.length; left > 0;) {
    [, left] = step(ACTIONS.run, bytes.subarray(bytes.length - left), [RESULTS.runs]);
  }
  for (let result = isLast ? -1 : RESULTS.end; result !== RESULTS.end;) {
    [result] = step(ACTIONS.finish, bytes.subarray(bytes.length), [RESULTS.finishes, RESULTS.end]);
  }
  return Buffer.concat(outputs);
}

/** Whether it has come to its end or not. */
export function freeBzip2Stream(address: number): void {
  calls().end(address);
  freeStream(address);
}

function calls(): Calls {
  if (loaded !== undefined) return loaded;
  const library = systemLibrary('bzip2', LIBRARY_NAMES, 'libbz2-1.0');
  loaded = {
    init: library.func('int BZ2_bzCompressInit(uintptr_t, int, int, int)') as Calls['init'],
    compress: library.func('int BZ2_bzCompress(uintptr_t, int)') as Calls['compress'],
    end: library.func('int BZ2_bzCompressEnd(uintptr_t)') as Calls['end'],
  };
  return loaded;
}
