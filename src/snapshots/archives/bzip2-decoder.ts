/** What bzip2 has compressed, through the system's library. Runs in worker threads. */
import { BZ_STREAM_SIZE, BZIP2_RESULTS, bzip2Library } from './bzip2-library.js';
import { ContentDamage } from './content-damage.js';
import { freeStream, newStream, stepStream } from './native-stream.js';

const ROOM = 256 * 1024;

/** Several streams, one behind the other, are read as one. */
export class Bzip2Decoder {
  readonly #library = bzip2Library();
  readonly #room = Buffer.allocUnsafeSlow(ROOM);
  /** 0 between streams. */
  #address = 0;

  /** The bytes are valid only within the call. */
  decode(input: Uint8Array, use: (bytes: Uint8Array) => void): void {
    for (let rest = input; this.#address !== 0 || rest.length > 0;) {
      if (this.#address === 0) this.#address = this.#begin();
      const step = stepStream(this.#address, this.#library.decompress, rest, this.#room);
      const isAtEnd = step.result === BZIP2_RESULTS.end;
      if (!isAtEnd) check(step.result);
      use(step.output);
      if (isAtEnd) this.close();
      else if (step.isStarved) return;
      rest = step.rest;
    }
  }

  /** All of the input has been given. */
  finish(): void {
    if (this.#address !== 0) throw new ContentDamage('its compressed content ends too early');
  }

  /** Needed after a failure too; does no harm twice. */
  close(): void {
    if (this.#address !== 0) freeStream(this.#address, this.#library.endDecompressing);
    this.#address = 0;
  }

  #begin(): number {
    return newStream(BZ_STREAM_SIZE, (address) => {
      check(this.#library.beginDecompressing(address, 0, 0));
    });
  }
}

function check(result: number): void {
  if (result === BZIP2_RESULTS.ok) return;
  if (result === BZIP2_RESULTS.noMemory) throw new Error('libbz2 has got no memory');
  throw new ContentDamage(`its content is damaged, as bzip2 says (${result})`);
}
