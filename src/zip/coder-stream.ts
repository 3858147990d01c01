/**
 * The structure through which libbz2 and liblzma take bytes in and give bytes out. Both keep addresses and lengths in
 * it, at places of their own. Runs in worker threads.
 */
import koffi from 'koffi';

/** In octets from its beginning; of lengths of 64 bits, the lower half. */
export interface CoderLayout {
  readonly length: number;
  readonly input: number;
  readonly inputLeft: number;
  readonly output: number;
  readonly outputLeft: number;
}

/** No more is taken at once. */
export const MOST_INPUT = 256 * 1024;
const ROOM = 256 * 1024;

export class CoderStream {
  /** Stays the same: buffers are not moved. */
  readonly address: number;
  readonly #layout: CoderLayout;
  readonly #structure: DataView<ArrayBuffer>;
  readonly #input = new Uint8Array(new ArrayBuffer(MOST_INPUT));
  readonly #inputAddress = addressOf(this.#input);
  readonly #output = new Uint8Array(new ArrayBuffer(ROOM));
  readonly #outputAddress = addressOf(this.#output);
  #room = 0;

  constructor(layout: CoderLayout) {
    this.#layout = layout;
    this.#structure = new DataView(new ArrayBuffer(layout.length));
    this.address = addressOf(new Uint8Array(this.#structure.buffer));
  }

  give(input: Uint8Array): void {
    this.#input.set(input);
    this.#setAddress(this.#layout.input, this.#inputAddress);
    this.#structure.setUint32(this.#layout.inputLeft, input.length, true);
  }

  /** Of the input, what has not been taken yet. */
  get left(): number {
    return this.#structure.getUint32(this.#layout.inputLeft, true);
  }

  /** Makes room for output; what there was is overwritten. */
  clear(most = ROOM): void {
    this.#room = Math.min(most, ROOM);
    this.#setAddress(this.#layout.output, this.#outputAddress);
    this.#structure.setUint32(this.#layout.outputLeft, this.#room, true);
  }

  /** What has come out since there was room; valid until there is room again. */
  get made(): Uint8Array {
    return this.#output.subarray(0, this.#room - this.#structure.getUint32(this.#layout.outputLeft, true));
  }

  /** Whether all of the input has been taken, and all that it makes has come out. */
  get isStarved(): boolean {
    return this.left === 0 && this.#structure.getUint32(this.#layout.outputLeft, true) > 0;
  }

  #setAddress(offset: number, address: number): void {
    this.#structure.setBigUint64(offset, BigInt(address), true);
  }
}

function addressOf(bytes: Uint8Array): number {
  return Number(koffi.address(bytes));
}
