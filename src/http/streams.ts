/**
 * Every long stream of the HTTP thread. Nothing else calls `write`, `tryEnd`, `pause` or `resume`.
 *
 * uWebSockets.js by itself ends a connection after some ten seconds of an upload under 16 kB/s, of `pause`, or
 * of a blocked write. Every stream is therefore re-armed every few seconds, and ends by our own rule instead:
 * after IDLE_LIMIT_MS without a byte moved by the client. After a `write` that returned false the library sends
 * what it holds only within a `cork`, so the writable handler of a chunked stream always ends in one.
 */
import type { HttpResponse } from 'uWebSockets.js';

const REARM_MS = 4000;
export const IDLE_LIMIT_MS = 120_000;
const LARGEST_WRITE = 64 * 1024;

interface LongStream {
  /** Keeps the connection; called every REARM_MS while the stream lives. */
  rearm(): void;
  /** When the client last moved a byte; undefined while it is not the client that is waited for. */
  readonly waitingSince: number | undefined;
  /** The client has moved nothing for too long. */
  expire(): void;
}

const live = new Set<LongStream>();
let timer: NodeJS.Timeout | undefined;

function join(stream: LongStream): void {
  live.add(stream);
  timer ??= setInterval(tick, REARM_MS).unref();
}

function leave(stream: LongStream): void {
  live.delete(stream);
}

function tick(): void {
  const now = Date.now();
  for (const stream of live) {
    const since = stream.waitingSince;
    if (since !== undefined && now - since >= IDLE_LIMIT_MS) stream.expire();
    else stream.rearm();
  }
}

/** How many streams are alive, for tests that show that none is leaked. */
export function liveStreams(): number {
  return live.size;
}

export interface BodyReceiver {
  /** The bytes are a copy and the receiver's to keep. */
  onChunk(bytes: Uint8Array<ArrayBuffer>): void;
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
  #movedAt = Date.now();

  constructor(response: HttpResponse, receiver: BodyReceiver) {
    this.#response = response;
    this.#receiver = receiver;
    join(this);
    response.onData((chunk, isLast) => {
      this.#movedAt = Date.now();
      this.#isComplete = isLast;
      if (this.#isOver) return;
      if (this.#onDrained === undefined && chunk.byteLength > 0)
        receiver.onChunk(new Uint8Array(chunk.slice(0)));
      if (isLast) this.#finish();
    });
  }

  get waitingSince(): number | undefined {
    return this.#isPaused ? undefined : this.#movedAt;
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
    this.#movedAt = Date.now();
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

  /** Nothing more is received. */
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
    const isDrained = this.#onDrained !== undefined;
    this.stop();
    if (!isDrained) this.#receiver.onEnd();
  }
}

/** A response without a known end: chunked, bounded, and closed when its client is too slow for the bound. */
export class ChunkedResponse implements LongStream {
  readonly #response: HttpResponse;
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
    this.#limit = limit;
    this.#onEnded = onEnded;
    join(this);
    response.onWritable(() => {
      this.#blockedSince = undefined;
      this.#response.cork(() => {
        this.#flush();
      });
      return true;
    });
  }

  get waitingSince(): number | undefined {
    return this.#blockedSince;
  }

  send(text: string): void {
    if (this.#isOver || this.#isEnding) return;
    this.#queue.push(text);
    this.#queuedLength += text.length;
    if (this.#queuedLength > this.#limit) this.expire();
    else if (this.#blockedSince === undefined) this.#corkedFlush();
  }

  /** Sends what waits, then ends the response. */
  end(): void {
    if (this.#isOver || this.#isEnding) return;
    this.#isEnding = true;
    if (this.#blockedSince === undefined) this.#corkedFlush();
  }

  /** The client has gone. */
  gone(): void {
    this.#isOver = true;
    this.#queue = [];
    leave(this);
  }

  rearm(): void {
    if (this.#blockedSince !== undefined) this.#response.cork(() => undefined);
  }

  expire(): void {
    if (!this.#isOver) this.#response.close();
  }

  #corkedFlush(): void {
    this.#response.cork(() => {
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#queue.length > 0 && this.#blockedSince === undefined) {
      if (!this.#response.write(this.#takePiece())) this.#blockedSince = Date.now();
    }
    if (!this.#isEnding || this.#queue.length > 0 || this.#isOver) return;
    this.#isOver = true;
    leave(this);
    this.#response.end();
    this.#onEnded();
  }

  /** As many waiting texts as fit one write. */
  #takePiece(): string {
    let count = 1;
    let length = this.#queue[0]?.length ?? 0;
    for (; count < this.#queue.length; count++) {
      length += this.#queue[count]?.length ?? 0;
      if (length > LARGEST_WRITE) break;
    }
    const piece = this.#queue.splice(0, count).join('');
    this.#queuedLength -= piece.length;
    return piece;
  }
}

export interface PieceSource {
  /** The bytes from `position` on, at least one. */
  read(position: number): Promise<Uint8Array>;
  /** The response is over, for whatever reason. */
  close(): void;
}

/** A response of known length, pulled from its source at the client's pace. */
export class SizedResponse implements LongStream {
  readonly #response: HttpResponse;
  readonly #total: number;
  readonly #source: PieceSource;
  #piece: Uint8Array | undefined;
  #pieceStart = 0;
  #blockedSince: number | undefined;
  #offset = 0;
  #isOver = false;

  /** The head must have been written; `total` is at least 1. */
  constructor(response: HttpResponse, total: number, source: PieceSource) {
    this.#response = response;
    this.#total = total;
    this.#source = source;
    join(this);
    response.onWritable((offset) => {
      this.#moved(offset);
      return this.#send();
    });
    void this.#pull(0);
  }

  get waitingSince(): number | undefined {
    return this.#blockedSince;
  }

  /** The client has gone. */
  gone(): void {
    this.#finish();
  }

  rearm(): void {
    if (this.#blockedSince === undefined) return;
    this.#moved(this.#response.getWriteOffset());
    this.#response.cork(() => this.#send());
  }

  expire(): void {
    if (!this.#isOver) this.#response.close();
  }

  async #pull(position: number): Promise<void> {
    try {
      const piece = await this.#source.read(position);
      if (this.#isOver) return;
      this.#piece = piece;
      this.#pieceStart = position;
      this.#response.cork(() => this.#send());
    } catch {
      // The length was promised already: only a broken connection tells the client that bytes are missing.
      this.expire();
    }
  }

  /** Sends the rest of the piece; false when the client has no room. */
  #send(): boolean {
    if (this.#piece === undefined || this.#isOver) return true;
    const rest = this.#piece.subarray(this.#response.getWriteOffset() - this.#pieceStart);
    const [isSent, isDone] = this.#response.tryEnd(rest, this.#total);
    if (isDone) {
      this.#finish();
    } else if (isSent) {
      const next = this.#pieceStart + this.#piece.length;
      this.#piece = undefined;
      this.#blockedSince = undefined;
      void this.#pull(next);
    } else {
      this.#blockedSince ??= Date.now();
    }
    return isSent;
  }

  #moved(offset: number): void {
    if (offset === this.#offset) return;
    this.#offset = offset;
    if (this.#blockedSince !== undefined) this.#blockedSince = Date.now();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#piece = undefined;
    leave(this);
    this.#source.close();
  }
}
