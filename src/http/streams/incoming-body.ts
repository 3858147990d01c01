import type { HttpResponse } from 'uWebSockets.js';
import { join, leave, type LongStream } from './long-stream.js';

export interface BodyReceiver {
  /** The bytes are valid only within the call. */
  onChunk(bytes: Uint8Array): void;
  onEnd(): void;
  /** The client sent nothing for too long. */
  onExpired(): void;
}

/**
 * Receives a request body at the receiver's pace. A handler must make this object before it awaits anything; the body is
 * held until it has a receiver.
 */
export class IncomingBody implements LongStream {
  place = -1;
  readonly #response: HttpResponse;
  #receiver: BodyReceiver | undefined;
  /** Bytes that came before there was a receiver, because the library had read them already. */
  #early: Uint8Array[] = [];
  #isPaused = false;
  #isOver = false;
  #isComplete = false;
  #received = 0;
  #onDrained: (() => void) | undefined;
  #movedAt = performance.now();

  constructor(response: HttpResponse) {
    this.#response = response;
    join(this);
    response.onData((chunk, isLast) => {
      this.#movedAt = performance.now();
      this.#received += chunk.byteLength;
      this.#isComplete = isLast;
      if (this.#isOver) return;
      if (this.#onDrained === undefined && chunk.byteLength > 0) this.#take(new Uint8Array(chunk));
      if (isLast && this.#receiver !== undefined) this.#finish(this.#receiver);
    });
  }

  /** Whether the body has no receiver yet. */
  get isHeld(): boolean {
    return this.#receiver === undefined;
  }

  /** Gives the body to its receiver, which is called from the next step on. */
  give(receiver: BodyReceiver): void {
    this.#receiver = receiver;
    if (this.#early.length === 0 && !this.#isComplete) return;
    queueMicrotask(() => {
      this.resume();
      for (const bytes of this.#early.splice(0)) if (!this.#isOver) receiver.onChunk(bytes);
      if (this.#isComplete && !this.#isOver) this.#finish(receiver);
    });
  }

  get waitingSince(): number | undefined {
    return this.#isPaused || this.#isOver ? undefined : this.#movedAt;
  }

  /** The number of octets that have come. */
  get received(): number {
    return this.#received;
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
    this.#receiver?.onExpired();
  }

  #take(bytes: Uint8Array): void {
    if (this.#receiver === undefined) {
      this.#early.push(bytes.slice());
      this.pause();
    } else {
      this.#receiver.onChunk(bytes);
    }
  }

  #finish(receiver: BodyReceiver): void {
    // The last bytes may come during a pause, and the next request of the connection would wait behind it.
    this.resume();
    this.#isOver = true;
    // It stays a long stream until the answer, because `resume` has started the timeout of the library.
    if (this.#onDrained === undefined) receiver.onEnd();
    else this.#onDrained();
  }
}
