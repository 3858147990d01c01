/** A request body that waits for its receiver, and then flows at the receiver's pace. */
import { refusals } from '../base/errors/errors.js';
import type { Exchange } from './exchange.js';
import { IDLE_LIMIT_MS } from './streams/long-stream.js';

/** Takes bytes, which are valid only within the call. */
interface ByteSink {
  write(bytes: Uint8Array): void;
}

/** The headers that routes with such a body must declare. */
export const RAW_BODY_HEADERS = ['content-length'] as const;

const DRAIN_MS = 2000;

/** A handler must make this object before it awaits anything. */
export class RawBody {
  /** The length that the client announces; undefined when it does not. */
  readonly length: number | undefined;
  readonly throttle;
  readonly #largest: number;
  #received = 0;
  /** The address of the client. */
  readonly client: string;
  /** Bytes that came before there was a sink, because the library had read them already. */
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
   * Gives the sink all bytes until the body ends. Rejects when the sink throws or `failure` rejects, and when the
   * client has gone or sends nothing for too long. After that the sink gets no more.
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

  /** The whole body; only for one with a short length. */
  async whole(): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    await this.into({ write: (bytes) => chunks.push(bytes.slice()) });
    return Buffer.concat(chunks);
  }

  /** Drops the rest of the body, for a while: a client may look for its answer only when it has sent all. */
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
