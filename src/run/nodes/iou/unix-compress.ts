/** The format of compress(1): codes of growing width, which stand for growing strings. It is only read here. */
import { NvramError } from './nvram-error.js';

const MAGIC = 0x1f9d;
const HEADER = 3;
const FEWEST_BITS = 9;
const MOST_BITS = 16;
const CLEAR = 256;
/** In the third byte: the greatest width of codes, and whether a code clears the table. */
const BITS = 0x1f;
const BLOCKS = 0x80;

/** Throws NvramError for what has another form, or is longer than the limit. */
export function uncompressed(stored: Uint8Array, limit: number): Buffer {
  const flags = stored[2] ?? 0;
  const mostBits = flags & BITS;
  if (((stored[0] ?? 0) << 8) + (stored[1] ?? 0) !== MAGIC || mostBits < FEWEST_BITS || mostBits > MOST_BITS)
    throw new NvramError('its configuration is not compressed as it says');
  const clears = (flags & BLOCKS) !== 0;
  const codes = new Codes(stored);
  const table = new Strings();
  const output: number[] = [];
  const firstFree = clears ? CLEAR + 1 : CLEAR;
  let width = FEWEST_BITS;
  let free = firstFree;
  let before = -1;
  for (let code = codes.next(width); code >= 0; code = codes.next(width)) {
    if (code === CLEAR && clears) {
      codes.skipGroup(width);
      width = FEWEST_BITS;
      free = firstFree;
      before = -1;
      continue;
    }
    if (code > free || (code >= free && before < 0) || (before < 0 && code >= CLEAR))
      throw new NvramError('its compressed configuration is damaged');
    const isNew = code === free;
    const bytes = table.bytesOf(isNew ? before : code);
    if (isNew) bytes.push(bytes[0] ?? 0);
    if (output.length + bytes.length > limit)
      throw new NvramError('its compressed configuration is too long');
    output.push(...bytes);
    if (before >= 0 && free < 2 ** mostBits) {
      table.add(free++, before, bytes[0] ?? 0);
    }
    before = code;
    if (free >= 2 ** width && width < mostBits) {
      codes.skipGroup(width);
      width++;
    }
  }
  return Buffer.from(output);
}

/** Codes are written in groups of eight, and a group is left when their width changes. */
class Codes {
  readonly #bytes: Uint8Array;
  #bit = HEADER * 8;
  #inGroup = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** -1 at the end. */
  next(width: number): number {
    if (this.#bit + width > this.#bytes.length * 8) return -1;
    const at = this.#bit >> 3;
    const three =
      (this.#bytes[at] ?? 0) | ((this.#bytes[at + 1] ?? 0) << 8) | ((this.#bytes[at + 2] ?? 0) << 16);
    const code = (three >> (this.#bit & 7)) & (2 ** width - 1);
    this.#bit += width;
    this.#inGroup = (this.#inGroup + 1) % 8;
    return code;
  }

  skipGroup(width: number): void {
    if (this.#inGroup > 0) this.#bit += (8 - this.#inGroup) * width;
    this.#inGroup = 0;
  }
}

/** The string of each code is the string of an earlier code and one byte more. */
class Strings {
  readonly #befores = new Int32Array(2 ** MOST_BITS);
  readonly #lasts = new Uint8Array(2 ** MOST_BITS);

  add(code: number, before: number, last: number): void {
    this.#befores[code] = before;
    this.#lasts[code] = last;
  }

  bytesOf(code: number): number[] {
    const bytes: number[] = [];
    let at = code;
    for (; at > 0xff; at = this.#befores[at] ?? 0) bytes.push(this.#lasts[at] ?? 0);
    bytes.push(at);
    return bytes.reverse();
  }
}
