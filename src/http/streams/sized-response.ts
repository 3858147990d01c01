import type { HttpResponse } from 'uWebSockets.js';
import { askForTurn, giveUpTurn, join, leave, type LongStream, type TurnTaker } from './long-stream.js';

export interface PieceSource {
  /**
   * Either calls `use` with bytes from `position` on, at least one and at most about `length`, which are valid only
   * within the call, and returns `given`; or returns a promise, after which the caller asks again.
   */
  give(position: number, length: number, use: (bytes: Uint8Array) => void): 'given' | Promise<void>;
  /** Called when the response is over, for whatever reason. */
  close(): void;
}

/** A source with bytes that are in memory. */
export function bytesSource(bytes: Uint8Array): PieceSource {
  return {
    give: (position, length, use) => {
      use(bytes.subarray(position, position + length));
      return 'given';
    },
    close: () => undefined,
  };
}

/** So many bytes are sent in one turn. */
const TURN_OCTETS = 1024 * 1024;
/** While the client takes little, pieces are small: bytes that it does not take have to be read again. */
const SHORTEST_PIECE = 16 * 1024;
/** Pieces of this length cost the system a third less than pieces of half of it. */
const LONGEST_PIECE = 512 * 1024;

/** A response of known length, pulled from its source at the client's pace, in turns with all other streams. */
export class SizedResponse implements LongStream, TurnTaker {
  place = -1;
  readonly #response: HttpResponse;
  readonly #total: number;
  readonly #source: PieceSource;
  #state: 'sending' | 'blocked' | 'reading' | 'over' = 'sending';
  #blockedSince = 0;
  #offset = 0;
  #pieceLength = LONGEST_PIECE;

  /** The head must have been written; `total` is at least 1. */
  constructor(response: HttpResponse, total: number, source: PieceSource) {
    this.#response = response;
    this.#total = total;
    this.#source = source;
    join(this);
    response.onWritable((offset) => {
      this.#moved(offset);
      if (this.#state === 'blocked') this.#sendSoon();
      return true;
    });
    askForTurn(this);
  }

  /** The number of octets that have been sent. */
  get sent(): number {
    return this.#offset;
  }

  get waitingSince(): number | undefined {
    return this.#state === 'blocked' ? this.#blockedSince : undefined;
  }

  /** The client has gone. */
  gone(): void {
    this.#finish();
  }

  rearm(): void {
    if (this.#state !== 'blocked') return;
    this.#moved(this.#response.getWriteOffset());
    this.#sendSoon();
  }

  expire(): void {
    if (this.#state !== 'over') this.#response.close();
  }

  takeTurn(): boolean {
    const end = this.#offset + TURN_OCTETS;
    while (this.#state === 'sending' && this.#offset < end) {
      const length = Math.min(this.#pieceLength, this.#total - this.#offset);
      try {
        const result = this.#source.give(this.#offset, length, this.#send);
        if (result !== 'given') this.#wait(result);
      } catch {
        // The length has been promised, so only a broken connection tells the client that bytes are missing.
        this.expire();
      }
    }
    return this.#state === 'sending';
  }

  #sendSoon(): void {
    this.#state = 'sending';
    askForTurn(this);
  }

  #wait(read: Promise<void>): void {
    this.#state = 'reading';
    read.then(
      () => {
        if (this.#state === 'reading') this.#sendSoon();
      },
      () => {
        this.expire();
      },
    );
  }

  readonly #send = (bytes: Uint8Array): void => {
    this.#response.cork(() => {
      const [isSent, isDone] = this.#response.tryEnd(bytes, this.#total);
      if (isDone) {
        this.#offset = this.#total;
        this.#finish();
        return;
      }
      const sent = this.#response.getWriteOffset() - this.#offset;
      this.#offset += sent;
      this.#adapt(sent, bytes.length);
      if (isSent) return;
      this.#state = 'blocked';
      this.#blockedSince = performance.now();
    });
  };

  #adapt(sent: number, given: number): void {
    if (sent === given) this.#pieceLength = Math.min(this.#pieceLength * 2, LONGEST_PIECE);
    else if (sent < given / 2) this.#pieceLength = Math.max(this.#pieceLength / 2, SHORTEST_PIECE);
  }

  #moved(offset: number): void {
    if (offset === this.#offset) return;
    this.#offset = offset;
    this.#blockedSince = performance.now();
  }

  #finish(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    giveUpTurn(this);
    leave(this);
    this.#source.close();
  }
}
