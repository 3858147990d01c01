/** What LZMA has compressed, as zip archives hold it, through the system's library. Runs in worker threads. */
import { CoderStream } from './coder-stream.js';
import { ContentDamage } from './content-damage.js';
import { systemLibrary } from './system-library.js';

const NAMES = ['liblzma.so.5', 'liblzma.5.dylib', 'liblzma.dylib'];
const LAYOUT = { length: 136, input: 0, inputLeft: 8, output: 24, outputLeft: 32 };
const OK = 0;
const STREAM_END = 1;
const NO_MEMORY = 5;
const NO_PROGRESS = 10;
const RUN = 0;
/** All that is decoded is kept so far back: this is what it takes, and some MiB. */
const LARGEST_DICTIONARY = 256 * 1024 * 1024;
const MEMORY_LIMIT = 2 * LARGEST_DICTIONARY;
/** A version of two octets, the length of the settings, the settings: one octet, and the size of the dictionary. */
const HEADER_LENGTH = 9;
const SETTINGS_LENGTH = 5;
/** The length that says: until its end marker. */
const UNKNOWN_LENGTH = Buffer.alloc(8, 0xff);
/** The end marker, and the last octets of the range coder. */
const LONGEST_END = 32;

interface Lzma {
  readonly begin: (stream: number, memory: number) => number;
  readonly decode: (stream: number, action: number) => number;
  readonly end: (stream: number) => void;
}

let loaded: Lzma | undefined;

function lzma(): Lzma {
  if (loaded !== undefined) return loaded;
  const library = systemLibrary('lzma', NAMES, 'liblzma5');
  loaded = {
    begin: library.func('int lzma_alone_decoder(uintptr_t, uint64_t)') as Lzma['begin'],
    decode: library.func('int lzma_code(uintptr_t, int)') as Lzma['decode'],
    end: library.func('void lzma_end(uintptr_t)') as Lzma['end'],
  };
  return loaded;
}

/**
 * Decodes as many bytes as there should be, so that it does not matter whether there is an end marker. The library reads
 * the form of .lzma files, which is the same behind a header of its own.
 */
export class LzmaDecoder {
  readonly #library = lzma();
  readonly #stream = new CoderStream(LAYOUT);
  #missing: number;
  #isBegun = false;
  #isAtEnd = false;
  #unread = 0;

  constructor(size: number) {
    this.#missing = size;
  }

  /** At most MOST_INPUT at once, and of the first all of the header. The bytes are valid only within the call. */
  decode(input: Uint8Array, use: (bytes: Uint8Array) => void): void {
    const stream = this.#stream;
    stream.give(this.#isBegun ? input : this.#begin(input));
    while (this.#missing > 0 && !this.#isAtEnd) {
      stream.clear(this.#missing);
      const code = this.#library.decode(stream.address, RUN);
      if (code !== OK && code !== STREAM_END && code !== NO_PROGRESS) throw failure(code);
      this.#missing -= stream.made.length;
      use(stream.made);
      this.#isAtEnd = code === STREAM_END;
      if (stream.isStarved) return;
    }
    this.#unread += stream.left;
    if (this.#unread > LONGEST_END)
      throw new ContentDamage('its compressed content is longer than it should be');
  }

  /** All of the input has been given. */
  finish(): void {
    if (this.#missing > 0) throw new ContentDamage('its compressed content ends too early');
  }

  close(): void {
    this.#library.end(this.#stream.address);
  }

  /** Returns what comes behind the header. */
  #begin(input: Uint8Array): Uint8Array {
    const header = Buffer.from(input.buffer, input.byteOffset, Math.min(input.length, HEADER_LENGTH));
    if (header.length < HEADER_LENGTH || header.readUInt16LE(2) !== SETTINGS_LENGTH) {
      throw new ContentDamage('its content does not begin as LZMA does in zip archives');
    }
    const dictionary = header.readUInt32LE(5);
    if (dictionary > LARGEST_DICTIONARY) {
      throw new ContentDamage(
        `it needs a dictionary of ${dictionary} bytes to be unpacked, and at most ${LARGEST_DICTIONARY} are allowed`,
      );
    }
    const code = this.#library.begin(this.#stream.address, MEMORY_LIMIT);
    if (code !== OK) throw failure(code);
    this.#isBegun = true;
    this.#stream.give(new Uint8Array([...header.subarray(4), ...UNKNOWN_LENGTH]));
    this.#stream.clear();
    const answer = this.#library.decode(this.#stream.address, RUN);
    if (answer !== OK) throw failure(answer);
    return input.subarray(HEADER_LENGTH);
  }
}

function failure(code: number): Error {
  if (code === NO_MEMORY) return new Error('liblzma has got no memory');
  return new ContentDamage(`its content is damaged, as LZMA says (${code})`);
}
