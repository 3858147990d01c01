/** One request to the owner of a scope, and the answer that comes from there. */
import type { Dispatcher } from 'undici';
import type { Headers } from '../answer.js';
import { relayedHead } from './forwarded-headers.js';
import type { BodySender } from './relayed-bytes.js';

export interface OwnersAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The length of the body; undefined when the owner does not tell. */
  readonly length: number | undefined;
}

/** Takes the body of an answer, piece by piece. */
export interface BodyTaker {
  /** False when no more should come before `goOn`. */
  push(piece: Uint8Array): boolean;
  complete(): void;
  fail(error: Error): void;
}

/** Takes nothing, as there is no body that anybody wants. */
export const NO_TAKER: BodyTaker = {
  push: () => true,
  complete: () => undefined,
  fail: () => undefined,
};

interface OwnerCallOptions {
  /** Called once, when the request has its connection, or will not have one. */
  readonly connected: () => void;
  /** Called when the head has come. Returns who takes the body. */
  readonly answered: (answer: OwnersAnswer, sender: BodySender) => BodyTaker;
  /** Called when there will be no answer. `isSent` when the owner may have the request. */
  readonly failed: (isSent: boolean) => void;
  /** Called once, when all is over. */
  readonly ended: () => void;
}

const FIRST_FINAL = 200;

export class OwnerCall implements BodySender, Dispatcher.DispatchHandlers {
  readonly #options: OwnerCallOptions;
  #abort: ((error?: Error) => void) | undefined;
  #resume: () => void = () => undefined;
  #taker: BodyTaker | undefined;
  #left: number | undefined;
  #isWanted = true;
  #isOver = false;
  #movedAt = performance.now();

  constructor(options: OwnerCallOptions) {
    this.#options = options;
  }

  /** When the owner last sent something. */
  get movedAt(): number {
    return this.#movedAt;
  }

  goOn(): void {
    if (!this.#isOver) this.#resume();
  }

  abort(): void {
    this.#isWanted = false;
    // All of the body is here: the connection can be used again once its end has been read.
    if (this.#left === 0) this.goOn();
    else if (!this.#isOver) this.#abort?.(new Error('nobody waits for the answer any more'));
  }

  readonly onConnect = (abort: (error?: Error) => void): void => {
    if (this.#abort === undefined) this.#options.connected();
    this.#abort = abort;
    if (!this.#isWanted) this.abort();
  };

  readonly onHeaders = (status: number, raw: Buffer[], resume: () => void): boolean => {
    this.#movedAt = performance.now();
    if (status < FIRST_FINAL) return true;
    this.#resume = resume;
    const { headers, length } = relayedHead(raw);
    this.#left = length;
    this.#taker = this.#options.answered({ status, headers, length }, this);
    return true;
  };

  readonly onData = (piece: Buffer): boolean => {
    this.#movedAt = performance.now();
    if (this.#left !== undefined) this.#left -= piece.length;
    return this.#taker?.push(piece) ?? true;
  };

  readonly onComplete = (): void => {
    this.#isOver = true;
    this.#taker?.complete();
    this.#options.ended();
  };

  readonly onError = (error: Error): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#abort === undefined) this.#options.connected();
    if (this.#taker === undefined) this.#options.failed(this.#abort !== undefined);
    else this.#taker.fail(error);
    this.#options.ended();
  };
}
