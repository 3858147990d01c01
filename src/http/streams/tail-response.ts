/**
 * A live response: sent in chunks, pulled from its source, and kept for as long as the source may have more. It is
 * given up only when its client takes nothing of the bytes that are sent.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { ChunkWriter } from './chunk-writer.js';
import { join, leave, type LongStream } from './long-stream.js';
import { TailFlow, type TailSink, type TailSource } from './tail-flow.js';

export class TailResponse implements LongStream, TailSink {
  place = -1;
  readonly #response: HttpResponse;
  readonly #writer: ChunkWriter;
  readonly #onEnded: () => void;
  readonly #flow: TailFlow;
  #blockedSince: number | undefined;
  #isOver = false;

  /** The head must have been written. It leaves with the first bytes, so the source should have some at once. */
  constructor(response: HttpResponse, source: TailSource, onEnded: () => void) {
    this.#response = response;
    this.#writer = new ChunkWriter(response);
    this.#onEnded = onEnded;
    join(this);
    this.#flow = new TailFlow(source, this);
    response.onWritable(() => {
      this.#blockedSince = undefined;
      this.#writer.sendHeld();
      this.#flow.goOn();
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

  /** Ends the stream as soon as its source has nothing at the moment. */
  finish(): void {
    this.#flow.finish();
  }

  /** The client has gone, or has received everything. */
  gone(): void {
    this.#isOver = true;
    leave(this);
    this.#flow.stop();
  }

  rearm(): void {
    this.#writer.keep();
  }

  expire(): void {
    if (!this.#isOver) this.#response.close();
  }

  send(bytes: Uint8Array): boolean {
    const isTaken = this.#writer.write(bytes);
    if (!isTaken) this.#blockedSince = performance.now();
    return isTaken;
  }

  end(): void {
    this.#isOver = true;
    leave(this);
    this.#response.cork(() => {
      this.#response.end();
    });
    this.#onEnded();
  }

  /** Closes the connection within the body, which tells the client that bytes are missing. */
  breakOff(): void {
    this.expire();
  }
}
