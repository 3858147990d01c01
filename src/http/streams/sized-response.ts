/** A response of known length on its way out. */
import type { HttpResponse } from 'uWebSockets.js';
import { join, leave, type LongStream } from './long-stream.js';

export interface PieceSource {
  /** The bytes from `position` on, at least one. */
  read(position: number): Promise<Uint8Array>;
  /** The response is over, for whatever reason. */
  close(): void;
}

/** A source of bytes that are in memory already. */
export function bytesSource(bytes: Uint8Array): PieceSource {
  return { read: (position) => Promise.resolve(bytes.subarray(position)), close: () => undefined };
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
