import type { HttpResponse } from 'uWebSockets.js';
import { join, leave, type LongStream } from './long-stream.js';

export interface BodyReceiver {
  /** The bytes are valid only within the call. */
  onChunk(bytes: Uint8Array): void;
  onEnd(): void;
  /** The client sent nothing for too long. */
  onExpired(): void;
}

/** Receives a request body at the receiver's pace. A handler must make this object before it awaits anything. */
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

  /** Pauses the body. Bytes that the library has read already still come. */
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
   * Receives the rest and drops it, for a while: a client that still sends may look for its answer only when it has
   * sent everything.
   */
  drain(longestMs: number): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.resume();
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      setTimeout(resolve, longestMs).unref();
    });
  }

  /** Receives nothing more, and stops the timeouts. */
  stop(): void {
    this.#isOver = true;
    leave(this);
    this.#onDrained?.();
  }

  rearm(): void {
    this.#response.pause();
    // Without a pause before it, `resume` would make the library read nothing more.
    if (!this.#isPaused) this.#response.resume();
  }

  expire(): void {
    this.stop();
    this.#receiver.onExpired();
  }

  #finish(): void {
    // The last bytes may come during a pause, and the next request of the connection would wait behind it.
    this.resume();
    this.#isOver = true;
    // It stays a long stream until the answer, because `resume` has started the timeout of the library.
    if (this.#onDrained === undefined) this.#receiver.onEnd();
    else this.#onDrained();
  }
}
