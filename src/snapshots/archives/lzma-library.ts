/** liblzma of this host, as its streams are known here: by the addresses of their structures. */
import type { StreamCall } from './native-stream.js';
import { systemLibrary } from './system-library.js';

export interface LzmaLibrary {
  readonly preset: (options: Uint8Array, preset: number) => number;
  readonly beginEncoding: (address: number, filters: Uint8Array) => number;
  /** Of the form of .lzma files. */
  readonly beginDecoding: (address: number, mostMemory: number) => number;
  /** Encodes or decodes, as the stream was begun. */
  readonly run: StreamCall;
  readonly finish: StreamCall;
  readonly end: (address: number) => void;
}

/** Of lzma_stream, where pointers have 64 bits. */
export const LZMA_STREAM_SIZE = 136;
export const LZMA_RESULTS = { ok: 0, end: 1, noMemory: 5, noProgress: 10 } as const;

const ACTIONS = { run: 0, finish: 3 } as const;
/** Linux, macOS, Homebrew on macOS. */
const NAMES = ['liblzma.so.5', 'liblzma.5.dylib', 'liblzma.dylib', '/opt/homebrew/lib/liblzma.5.dylib'];

let loaded: LzmaLibrary | undefined;

/** Refuses (409) where the library is missing. */
export function lzmaLibrary(): LzmaLibrary {
  loaded ??= load();
  return loaded;
}

function load(): LzmaLibrary {
  const library = systemLibrary('lzma', NAMES, 'liblzma5');
  const code = library.func('int lzma_code(uintptr_t, int)') as (address: number, action: number) => number;
  return {
    preset: library.func('uint8_t lzma_lzma_preset(uint8_t *, uint32_t)') as LzmaLibrary['preset'],
    beginEncoding: library.func(
      'int lzma_raw_encoder(uintptr_t, const uint8_t *)',
    ) as LzmaLibrary['beginEncoding'],
    beginDecoding: library.func(
      'int lzma_alone_decoder(uintptr_t, uint64_t)',
    ) as LzmaLibrary['beginDecoding'],
    run: (address) => code(address, ACTIONS.run),
    finish: (address) => code(address, ACTIONS.finish),
    end: library.func('void lzma_end(uintptr_t)') as LzmaLibrary['end'],
  };
}
