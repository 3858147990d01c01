/** What LZMA has compressed, as zip archives hold it, through the system's library. Runs in worker threads. */
import { ContentDamage } from './content-damage.js';
import { LZMA_RESULTS, LZMA_STREAM_SIZE, lzmaLibrary } from './lzma-library.js';
import { freeStream, newStream, stepStream } from './native-stream.js';

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
const ROOM = 256 * 1024;

/**
 * Decodes as many bytes as there should be, so that it does not matter whether there is an end marker. The library reads
 * the form of .lzma files, which is the same behind a header of its own.
 */
export class LzmaDecoder {
  readonly #library = lzmaLibrary();
  readonly #room = Buffer.allocUnsafeSlow(ROOM);
  /** 0 until the header is there. */
  #address = 0;
  #missing: number;
  #isAtEnd = false;
  #unread = 0;

  constructor(size: number) {
    this.#missing = size;
  }

  /** The first input has all of the header. The bytes are valid only within the call. */
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
      throw new ContentDamage('its compressed content is longer than it should be');
  }

  /** All of the input has been given. */
  finish(): void {
    if (this.#missing > 0) throw new ContentDamage('its compressed content ends too early');
  }

  /** Needed after a failure too; does no harm twice. */
  close(): void {
    if (this.#address !== 0) freeStream(this.#address, this.#library.end);
    this.#address = 0;
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
  throw new ContentDamage(`its content is damaged, as LZMA says (${result})`);
}
