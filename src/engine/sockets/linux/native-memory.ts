/** Memory with a known address, for the structures that system calls read and write. */
import koffi from 'koffi';

const WORD = 2 ** 32;

export class NativeMemory {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly address: number;

  constructor(length: number) {
    this.bytes = new Uint8Array(length);
    this.words = new Int32Array(this.bytes.buffer);
    this.address = addressOf(this.bytes);
  }

  /** Writes a 64-bit number (an address or a length) at an offset that is a multiple of 8. */
  setLong(offset: number, value: number): void {
    this.words[offset >> 2] = value;
    this.words[(offset >> 2) + 1] = value / WORD;
  }
}

/** The address stays valid as long as the buffer lives: buffers are not moved. */
export function addressOf(bytes: Uint8Array): number {
  return Number(koffi.address(bytes));
}
