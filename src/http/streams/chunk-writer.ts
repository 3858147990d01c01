/**
 * Writes the body of a response in chunks; the only caller of `write`. The library gathers the writes of a cork. When
 * it has gathered too much and cannot send that at once, it loses the last write. So each write here has a cork of its
 * own, and fits into it. The library keeps what it cannot send then, and the result of the next write says so.
 */
import type { HttpResponse } from 'uWebSockets.js';

/** The library gathers 16 KiB; the first chunk shares them with the end of the head. */
const LARGEST_CHUNK = 16 * 1024 - 384;

export class ChunkWriter {
  readonly #response: HttpResponse;
  #chunk: Uint8Array | undefined;
  #isTaken = true;
  #written = 0;

  /** Whether the head, as far as it was written, has been sent. */
  constructor(response: HttpResponse) {
    this.#response = response;
  }

  /** The number of octets that have been written. */
  get written(): number {
    return this.#written;
  }

  /** Writes all of the bytes. False when the client has no room; the caller should then write no more for now. */
  write(bytes: Uint8Array): boolean {
    let isTaken = true;
    this.#written += bytes.length;
    for (let offset = 0; offset < bytes.length; offset += LARGEST_CHUNK) {
      this.#chunk = bytes.length <= LARGEST_CHUNK ? bytes : bytes.subarray(offset, offset + LARGEST_CHUNK);
      this.#response.cork(this.#writeChunk);
      isTaken &&= this.#isTaken;
    }
    this.#chunk = undefined;
    return isTaken;
  }

  /**
   * Restarts the timeout of the library, which gives a client ten seconds to take something. It also runs after a
   * write that failed silently, and after a cork that sent the rest, so it is restarted in any case. Only these two
   * calls together do that and still let the library report when the client has room.
   */
  keep(): void {
    this.#response.pause();
    this.#response.resume();
    this.sendHeld();
  }

  /** Sends the bytes that the library holds, which it does only within a cork. */
  sendHeld(): void {
    this.#response.cork(nothing);
  }

  readonly #writeChunk = (): void => {
    if (this.#chunk !== undefined) this.#isTaken = this.#response.write(this.#chunk);
  };
}

function nothing(): void {
  // An empty cork is enough.
}
