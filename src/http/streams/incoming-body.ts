/** A request body on its way in. */
import type { HttpResponse } from 'uWebSockets.js';
import { join, leave, type LongStream } from './long-stream.js';

export interface BodyReceiver {
  /** The bytes are valid only within the call. */
  onChunk(bytes: Uint8Array): void;
  onEnd(): void;
  /** The client sent nothing for too long. */
  onExpired(): void;
}

/** A request body on its way in, at whatever pace. Made within the request handler. */
export class IncomingBody implements LongStream {
  readonly #response: HttpResponse;
  readonly #receiver: BodyReceiver;
  #isPaused = false;
  #isOver = false;
  #isComplete = false;
  #onDrained: (() => void) | undefined;
  #movedAt = performance.now();

  constructor(response: HttpResponse, receiver: BodyReceiver) {
    this.#response = response;
    this.#receiver = receiver;
    join(this);
    response.onData((chunk, isLast) => {
      this.#movedAt = performance.now();
      this.#isComplete = isLast;
      if (this.#isOver) return;
      if (this.#onDrained === undefined && chunk.byteLength > 0) receiver.onChunk(new Uint8Array(chunk));
      if (isLast) this.#finish();
    });
  }

  get waitingSince(): number | undefined {
    return this.#isPaused || this.#isOver ? undefined : this.#movedAt;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Some bytes may still come: what the library has read already. */
  pause(): void {
    if (this.#isPaused || this.#isOver) return;
    this.#isPaused = true;
    this.#response.pause();
  }

  resume(): void {
    if (!this.#isPaused || this.#isOver) return;
    this.#isPaused = false;
    this.#movedAt = performance.now();
    this.#response.resume();
  }

  /**
   * Lets the rest in and drops it, for a while: a client that is still sending may not look for its answer
   * before it has sent everything.
   */
  drain(longestMs: number): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.resume();
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      setTimeout(resolve, longestMs).unref();
    });
  }

  /** Nothing more is received, and nothing is waited for. */
  stop(): void {
    this.#isOver = true;
    leave(this);
    this.#onDrained?.();
  }

  rearm(): void {
    this.#response.pause();
    // Without the pause before it, `resume` makes the library read nothing more.
    if (!this.#isPaused) this.#response.resume();
  }

  expire(): void {
    this.stop();
    this.#receiver.onExpired();
  }

  #finish(): void {
    // The last bytes may come after a pause, and the connection's next request would wait behind it.
    this.resume();
    this.#isOver = true;
    // The connection is kept until it is answered: `resume` has set the library's clock going.
    if (this.#onDrained === undefined) this.#receiver.onEnd();
    else this.#onDrained();
  }
}
