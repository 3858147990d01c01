/** libbz2 of this host, as its streams are known here: by the addresses of their structures. */
import type { StreamCall } from './native-stream.js';
import { systemLibrary } from './system-library.js';

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
