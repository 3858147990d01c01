/**
 * LZMA, as zip archives hold it, by liblzma of this host. A stream is known by the address of its structure, so any
 * thread can go on with it. Runs in worker threads.
 */
import koffi from 'koffi';
import { freeStream, newStream, stepStream, systemLibrary, type StreamCall } from './native-stream.js';
import { MemberDamage } from './zip-member.js';

interface LzmaLibrary {
  readonly preset: (options: Uint8Array, preset: number) => number;
  readonly beginEncoding: (address: number, filters: Uint8Array) => number;
  /** Reads the format of .lzma files. */
  readonly beginDecoding: (address: number, mostMemory: number) => number;
  /** Encodes or decodes, depending on how the stream was begun. */
  readonly run: StreamCall;
  readonly finish: StreamCall;
  readonly end: (address: number) => void;
}

/** The size of lzma_stream where pointers have 64 bits. */
const LZMA_STREAM_SIZE = 136;
const LZMA_RESULTS = { ok: 0, end: 1, noMemory: 5, noProgress: 10 } as const;

const ACTIONS = { run: 0, finish: 3 } as const;
/** On Linux, macOS, macOS with Homebrew. */
const NAMES = ['liblzma.so.5', 'liblzma.5.dylib', 'liblzma.dylib', '/opt/homebrew/lib/liblzma.5.dylib'];

let loaded: LzmaLibrary | undefined;

/** Refuses (409) where the library is missing. */
function lzmaLibrary(): LzmaLibrary {
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

interface LzmaStream {
  readonly address: number;
  /** Goes before the compressed content in a zip archive. */
  readonly head: Buffer<ArrayBuffer>;
}

/** The preset of `xz -6`. A stream takes twelve times the memory of its dictionary. */
const PRESET = 6;
const LARGEST_DICTIONARY = 8 * 1024 * 1024;
const SMALLEST_DICTIONARY = 4096;
const LZMA1 = 0x4000_0000_0000_0001n;
const NO_FILTER = 0xffff_ffff_ffff_ffffn;
/** The fields of lzma_options_lzma; the size includes spare room. */
const OPTIONS = { size: 256, dictionary: 0, lc: 20, lp: 24, pb: 28 } as const;
/** The version of the LZMA SDK that defined this head. */
const HEAD_VERSION = [9, 4];
const HEAD = { size: 9, length: 2, first: 4, dictionary: 5 } as const;
const PROPERTIES_LENGTH = 5;
/** Output of the current step of this thread; it is copied from here. */
const room = Buffer.allocUnsafeSlow(128 * 1024);

/** `size` is that of the content, if known. Refuses (409) where the library is missing. */
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

/** Returns the output so far. It may be empty: the library buffers much of it until the last call. */
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

/** Frees the stream, ended or not. */
export function freeLzmaStream(address: number): void {
  freeStream(address, lzmaLibrary().end);
}

/** A dictionary no larger than the content, so that the stream for a small file costs little. */
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

/** A decoder needs as much memory as its dictionary, and some MiB. */
const LARGEST_ACCEPTED_DICTIONARY = 256 * 1024 * 1024;
const MEMORY_LIMIT = 2 * LARGEST_ACCEPTED_DICTIONARY;
/** Two bytes of version, two for the length of the settings, then the settings: one byte, four for the dictionary size. */
const HEADER_LENGTH = 9;
const SETTINGS_LENGTH = 5;
/** This length means: read up to the end marker. */
const UNKNOWN_LENGTH = Buffer.alloc(8, 0xff);
/** Room for the end marker and the last bytes of the range coder. */
const LONGEST_END = 32;
const ROOM = 256 * 1024;

/**
 * Decodes exactly `size` bytes, so an end marker may be there or not. The library reads .lzma files, which differ in
 * their header only: this writes one.
 */
export class LzmaDecoder {
  readonly #library = lzmaLibrary();
  readonly #room = Buffer.allocUnsafeSlow(ROOM);
  /** The stream; 0 until the header was read. */
  #address = 0;
  #missing: number;
  #isAtEnd = false;
  #unread = 0;

  constructor(size: number) {
    this.#missing = size;
  }

  /** The first input must have the whole header. `use` gets bytes that are valid only within its call. */
  decode(input: Uint8Array, use: (bytes: Uint8Array) => void): void {
    let rest = this.#address === 0 ? this.#begin(input) : input;
    while (this.#missing > 0 && !this.#isAtEnd) {
      const room = this.#room.subarray(0, this.#missing);
      const step = stepStream(this.#address, this.#library.run, rest, room);
      this.#isAtEnd = step.result === LZMA_RESULTS.end;
      if (!this.#isAtEnd && step.result !== LZMA_RESULTS.noProgress) check(step.result);
      this.#missing -= step.output.length;
      use(step.output);
      if (step.isStarved) return;
      rest = step.rest;
    }
    this.#unread += rest.length;
    if (this.#unread > LONGEST_END)
      throw new MemberDamage('its compressed content is longer than it should be');
  }

  /** Call after the last input; throws if content is missing. */
  finish(): void {
    if (this.#missing > 0) throw new MemberDamage('its compressed content ends too early');
  }

  /** Must be called, also after a failure; may be called twice. */
  close(): void {
    if (this.#address !== 0) freeStream(this.#address, this.#library.end);
    this.#address = 0;
  }

  /** Returns the input behind the header. */
  #begin(input: Uint8Array): Uint8Array {
    const header = Buffer.from(input.buffer, input.byteOffset, Math.min(input.length, HEADER_LENGTH));
    if (header.length < HEADER_LENGTH || header.readUInt16LE(2) !== SETTINGS_LENGTH) {
      throw new MemberDamage('its content does not begin as LZMA does in zip archives');
    }
    const dictionary = header.readUInt32LE(5);
    if (dictionary > LARGEST_ACCEPTED_DICTIONARY) {
      throw new MemberDamage(
        `it needs a dictionary of ${dictionary} bytes to be unpacked, and at most ${LARGEST_ACCEPTED_DICTIONARY} are allowed`,
      );
    }
    this.#address = newStream(LZMA_STREAM_SIZE, (address) => {
      check(this.#library.beginDecoding(address, MEMORY_LIMIT));
    });
    const settings = Buffer.concat([header.subarray(HEADER_LENGTH - SETTINGS_LENGTH), UNKNOWN_LENGTH]);
    check(stepStream(this.#address, this.#library.run, settings, this.#room).result);
    return input.subarray(HEADER_LENGTH);
  }
}

function check(result: number): void {
  if (result === LZMA_RESULTS.ok) return;
  if (result === LZMA_RESULTS.noMemory) throw new Error('liblzma has got no memory');
  throw new MemberDamage(`its content is damaged, as LZMA says (${result})`);
}
