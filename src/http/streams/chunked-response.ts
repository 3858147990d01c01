import type { HttpResponse } from 'uWebSockets.js';
import { ChunkWriter } from './chunk-writer.js';
import { join, leave, type LongStream } from './long-stream.js';

/** The length of one write, in characters. */
const LARGEST_PIECE = 64 * 1024;

/** A response without a known end: chunked, bounded, and closed when its client is too slow for the bound. */
export class ChunkedResponse implements LongStream {
  place = -1;
  readonly #response: HttpResponse;
  readonly #writer: ChunkWriter;
  readonly #limit: number;
  readonly #onEnded: () => void;
  #queue: string[] = [];
  #queuedLength = 0;
  #blockedSince: number | undefined;
  #isEnding = false;
  #isOver = false;

  /** The head must have been written. `limit` bounds the characters that wait for the client. */
  constructor(response: HttpResponse, limit: number, onEnded: () => void) {
    this.#response = response;
    this.#writer = new ChunkWriter(response);
    this.#limit = limit;
    this.#onEnded = onEnded;
    join(this);
    response.onWritable(() => {
      this.#blockedSince = undefined;
      this.#writer.sendHeld();
      this.#flush();
      return true;
    });
  }

  /** The number of octets that have been sent, or wait in the library. */
  get sent(): number {
    return this.#writer.written;
  }

  get waitingSince(): number | undefined {
    return this.#blockedSince;
  }

  send(text: string): void {
    if (this.#isOver || this.#isEnding) return;
    this.#queue.push(text);
    this.#queuedLength += text.length;
    if (this.#queuedLength > this.#limit) this.expire();
    else if (this.#blockedSince === undefined) this.#flush();
  }

  /** Sends what waits, then ends the response. */
  end(): void {
    if (this.#isOver || this.#isEnding) return;
    this.#isEnding = true;
    if (this.#blockedSince === undefined) this.#flush();
  }

  /** The client has gone. */
  gone(): void {
    this.#isOver = true;
    this.#queue = [];
    leave(this);
  }

  rearm(): void {
    this.#writer.keep();
  }

  expire(): void {
    if (!this.#isOver) this.#response.close();
  }

  #flush(): void {
    while (this.#queue.length > 0 && this.#blockedSince === undefined) {
      if (!this.#writer.write(Buffer.from(this.#takePiece()))) this.#blockedSince = performance.now();
    }
    if (!this.#isEnding || this.#queue.length > 0 || this.#isOver) return;
    this.#isOver = true;
    leave(this);
    this.#response.cork(() => {
      this.#response.end();
    });
    this.#onEnded();
  }

  /** Joins as many waiting texts as fit into one write. */
  #takePiece(): string {
    let count = 1;
    let length = this.#queue[0]?.length ?? 0;
    for (; count < this.#queue.length; count++) {
      length += this.#queue[count]?.length ?? 0;
      if (length > LARGEST_PIECE) break;
    }
    const piece = this.#queue.splice(0, count).join('');
    this.#queuedLength -= piece.length;
    return piece;
  }
}
