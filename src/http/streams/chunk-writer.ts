/**
 * The body of a response in chunks: the only caller of `write`. When the library gathers writes in a cork and what
 * it has gathered cannot be sent at once, it loses the write that made it send; so each write has a cork of its own
 * and is small enough to be gathered whole. What cannot be sent then is kept, and the next write tells of it.
 */
import type { HttpResponse } from 'uWebSockets.js';

/** The library gathers 16 KiB, of which the first chunk needs some for the end of the head. */
const LARGEST_CHUNK = 16 * 1024 - 384;

export class ChunkWriter {
  readonly #response: HttpResponse;
  #chunk: Uint8Array | undefined;
  #isTaken = true;

  /** What is written of the head has been sent. */
  constructor(response: HttpResponse) {
    this.#response = response;
  }

  /** All of the bytes; false when the client has no room, and nothing more should be written for now. */
  write(bytes: Uint8Array): boolean {
    let isTaken = true;
    for (let offset = 0; offset < bytes.length; offset += LARGEST_CHUNK) {
      this.#chunk = bytes.length <= LARGEST_CHUNK ? bytes : bytes.subarray(offset, offset + LARGEST_CHUNK);
      this.#response.cork(this.#writeChunk);
      isTaken &&= this.#isTaken;
    }
    this.#chunk = undefined;
    return isTaken;
  }

  /**
   * Restarts the library's clock, which gives a client ten seconds to take something. It runs also when the last
   * write failed without a word, and when a cork could send what was left; so it is restarted in any case, which
   * only these two together do without forgetting that the client's room is waited for.
   */
  keep(): void {
    this.#response.pause();
    this.#response.resume();
    this.sendHeld();
  }

  /** The library sends what it holds only within a cork. */
  sendHeld(): void {
    this.#response.cork(nothing);
  }

  readonly #writeChunk = (): void => {
    if (this.#chunk !== undefined) this.#isTaken = this.#response.write(this.#chunk);
  };
}

function nothing(): void {
  // An empty cork.
}
