/** What bzip2 has compressed, through the system's library. Runs in worker threads. */
import { CoderStream } from './coder-stream.js';
import { ContentDamage } from './content-damage.js';
import { systemLibrary } from './system-library.js';

const NAMES = ['libbz2.so.1.0', 'libbz2.so.1', 'libbz2.1.0.dylib', 'libbz2.dylib'];
const LAYOUT = { length: 80, input: 0, inputLeft: 8, output: 24, outputLeft: 32 };
const OK = 0;
const STREAM_END = 4;
const NO_MEMORY = -3;

interface Bzip2 {
  readonly begin: (stream: number, verbosity: number, isSmall: number) => number;
  readonly decode: (stream: number) => number;
  readonly end: (stream: number) => number;
}

let loaded: Bzip2 | undefined;

function bzip2(): Bzip2 {
  if (loaded !== undefined) return loaded;
  const library = systemLibrary('bzip2', NAMES, 'libbz2-1.0');
  loaded = {
    begin: library.func('int BZ2_bzDecompressInit(uintptr_t, int, int)') as Bzip2['begin'],
    decode: library.func('int BZ2_bzDecompress(uintptr_t)') as Bzip2['decode'],
    end: library.func('int BZ2_bzDecompressEnd(uintptr_t)') as Bzip2['end'],
  };
  return loaded;
}

/** Several streams, one behind the other, are read as one. */
export class Bzip2Decoder {
  readonly #library = bzip2();
  readonly #stream = new CoderStream(LAYOUT);
  #isWithin = false;

  /** At most MOST_INPUT at once. The bytes are valid only within the call. */
  decode(input: Uint8Array, use: (bytes: Uint8Array) => void): void {
    const stream = this.#stream;
    stream.give(input);
    while (this.#isWithin || stream.left > 0) {
      if (!this.#isWithin) this.#begin();
      stream.clear();
      const code = this.#library.decode(stream.address);
      if (code !== OK && code !== STREAM_END) throw failure(code);
      use(stream.made);
      if (code === STREAM_END) this.close();
      else if (stream.isStarved) return;
    }
  }

  /** All of the input has been given. */
  finish(): void {
    if (this.#isWithin) throw new ContentDamage('its compressed content ends too early');
  }

  close(): void {
    if (this.#isWithin) this.#library.end(this.#stream.address);
    this.#isWithin = false;
  }

  #begin(): void {
    const code = this.#library.begin(this.#stream.address, 0, 0);
    if (code !== OK) throw failure(code);
    this.#isWithin = true;
  }
}

function failure(code: number): Error {
  if (code === NO_MEMORY) return new Error('libbz2 has got no memory');
  return new ContentDamage(`its content is damaged, as bzip2 says (${code})`);
}
