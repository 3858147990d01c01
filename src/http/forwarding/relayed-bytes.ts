/** The body of an answer on its way from its owner to the client, at the client's pace: little waits here. */
import type { PieceSource } from '../streams/sized-response.js';
import { LARGEST_PIECE, type TailSource } from '../streams/tail-flow.js';

/** With more that waits, the owner is asked to wait. What the system has read at once may come on top. */
const MOST_WAITING = 64 * 1024;

/** The owner's end of the body. */
export interface BodySender {
  /** More may come. */
  goOn(): void;
  /** Nobody wants the rest. */
  abort(): void;
}

export class RelayedBytes implements PieceSource, TailSource {
  readonly #sender: BodySender;
  readonly #pieces: Uint8Array[] = [];
  /** The position of the first piece in the body. */
  #position = 0;
  #waiting = 0;
  #isPaused = false;
  #state: 'coming' | 'complete' | 'closed' = 'coming';
  #failure: Error | undefined;
  #onReady: () => void = () => undefined;
  #isAsked = false;
  #asked: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;

  constructor(sender: BodySender) {
    this.#sender = sender;
  }

  /** Takes a piece, which is not written to any more. False when no more should come before `goOn`. */
  push(piece: Uint8Array): boolean {
    if (this.#state === 'closed') return true;
    this.#pieces.push(piece);
    this.#waiting += piece.length;
    this.#isPaused = this.#waiting >= MOST_WAITING;
    this.#tell();
    return !this.#isPaused;
  }

  /** The body is whole. */
  complete(): void {
    if (this.#state === 'coming') this.#state = 'complete';
    this.#tell();
  }

  /** The owner has gone within the body. */
  fail(error: Error): void {
    if (this.#state !== 'coming') return;
    this.#failure = error;
    this.#tell();
  }

  give(position: number, length: number, use: (bytes: Uint8Array) => void): 'given' | Promise<void> {
    this.#forget(position);
    const [piece] = this.#pieces;
    if (piece !== undefined) {
      const from = position - this.#position;
      use(piece.subarray(from, from + length));
      return 'given';
    }
    if (this.#failure !== undefined) throw this.#failure;
    return new Promise((resolve, reject) => {
      this.#asked = { resolve, reject };
    });
  }

  next(use: (bytes: Uint8Array) => void): 'given' | 'nothing' | 'over' {
    const [piece] = this.#pieces;
    if (piece === undefined) {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#state === 'complete') return 'over';
      this.#isAsked = true;
      return 'nothing';
    }
    use(piece.subarray(0, LARGEST_PIECE));
    if (piece.length <= LARGEST_PIECE) this.#pieces.shift();
    else this.#pieces[0] = piece.subarray(LARGEST_PIECE);
    this.#taken(Math.min(piece.length, LARGEST_PIECE));
    return 'given';
  }

  onReady(callback: () => void): void {
    this.#onReady = callback;
  }

  close(): void {
    const isWhole = this.#state === 'complete';
    this.#state = 'closed';
    this.#pieces.length = 0;
    if (!isWhole) this.#sender.abort();
  }

  /** Lets go of the pieces before the position. */
  #forget(position: number): void {
    for (let [piece] = this.#pieces; piece !== undefined; [piece] = this.#pieces) {
      if (this.#position + piece.length > position) break;
      this.#position += piece.length;
      this.#pieces.shift();
      this.#taken(piece.length);
    }
  }

  #taken(octets: number): void {
    this.#waiting -= octets;
    if (!this.#isPaused || this.#waiting >= MOST_WAITING) return;
    this.#isPaused = false;
    this.#sender.goOn();
  }

  #tell(): void {
    const asked = this.#asked;
    this.#asked = undefined;
    if (this.#failure !== undefined && this.#pieces.length === 0) asked?.reject(this.#failure);
    else asked?.resolve();
    if (!this.#isAsked) return;
    this.#isAsked = false;
    this.#onReady();
  }
}
