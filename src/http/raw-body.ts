/** A request body that waits until somebody takes it, and then flows at the pace of who does. */
import { refusals } from '../base/errors/errors.js';
import type { Exchange } from './exchange.js';
import { IDLE_LIMIT_MS } from './streams/long-stream.js';

/** Takes bytes, which are its only within the call. */
export interface ByteSink {
  write(bytes: Uint8Array): void;
}

/** The header that must be declared by routes that take their body so. */
export const RAW_BODY_HEADERS = ['content-length'] as const;

const DRAIN_MS = 2000;

/** To be made before the handler waits for anything. */
export class RawBody {
  /** As the client says; undefined when it does not. */
  readonly length: number | undefined;
  readonly throttle;
  readonly #largest: number;
  #received = 0;
  /** The address that it comes from. */
  readonly client: string;
  /** What came before there was a sink: what the library had read already. */
  #early: Uint8Array[] = [];
  #state: 'coming' | 'complete' | 'unwanted' = 'coming';
  #failure: Error | undefined;
  #sink: ByteSink | undefined;
  #wake: (() => void) | undefined;

  constructor(exchange: Exchange, largest = Infinity) {
    this.#largest = largest;
    const declared = exchange.headers['content-length'] ?? '';
    this.length = /^\d{1,15}$/.test(declared) ? Number(declared) : undefined;
    this.client = exchange.address;
    this.throttle = exchange.receive({
      onChunk: (bytes) => {
        this.#take(bytes);
      },
      onEnd: () => {
        if (this.#state === 'coming') this.#state = 'complete';
        this.#wake?.();
      },
      onExpired: () => {
        this.#fail(refusals.requestTooSlow(IDLE_LIMIT_MS / 1000));
      },
    });
    if ((this.length ?? 0) > largest) this.#fail(refusals.bodyTooLarge(largest));
    exchange.atEnd(() => {
      if (this.#state === 'coming') this.#fail(new Error('the client went away'));
    });
  }

  /**
   * Gives the sink everything until the body ends. Rejects with what the sink throws or `failure` rejects with, and
   * when the client has gone or sends nothing for too long; nothing is given after that.
   */
  async into(sink: ByteSink, failure?: Promise<never>): Promise<void> {
    try {
      const poured = this.#pour(sink);
      await (failure === undefined ? poured : Promise.race([poured, failure]));
    } finally {
      this.#sink = undefined;
      if (this.#state === 'coming') this.#state = 'unwanted';
    }
  }

  /** All of it, for a body that is short by its length. */
  async whole(): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    await this.into({ write: (bytes) => chunks.push(bytes.slice()) });
    return Buffer.concat(chunks);
  }

  /** Nothing more is wanted: what still comes is dropped, for a while, so that the client looks for its answer. */
  async drain(): Promise<void> {
    this.#state = 'unwanted';
    this.#early = [];
    await this.throttle.drain(DRAIN_MS);
  }

  async #pour(sink: ByteSink): Promise<void> {
    const early = this.#early;
    this.#early = [];
    for (const bytes of early) sink.write(bytes);
    this.#sink = sink;
    this.throttle.resume();
    while (this.#state === 'coming' && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  #take(bytes: Uint8Array): void {
    if (this.#state !== 'coming' || this.#failure !== undefined) return;
    this.#received += bytes.length;
    if (this.#received > this.#largest) {
      this.#fail(refusals.bodyTooLarge(this.#largest));
      return;
    }
    if (this.#sink === undefined) {
      this.#early.push(bytes.slice());
      this.throttle.pause();
      return;
    }
    try {
      this.#sink.write(bytes);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#wake?.();
  }
}
