/** The body of a request on its way to the owner of its scope: gathered when it is short, else at the owner's pace. */
import { Readable } from 'node:stream';
import { refusals } from '../../base/errors/errors.js';
import type { Exchange } from '../exchange.js';
import { IDLE_LIMIT_MS } from '../streams/long-stream.js';

/** Up to this length, the owner gets the body at once. */
const GATHERED = 64 * 1024;

const tooSlow = (): Error => refusals.requestTooSlow(IDLE_LIMIT_MS / 1000);

/**
 * The body of which the client has told this length, or none. Rejects (408) when a short one does not come; call it in the
 * first step, or hold the body. Undefined without a body, and when the client has gone.
 */
export function forwardedBody(
  exchange: Exchange,
  length: number | undefined,
): Uint8Array | Readable | undefined | Promise<Uint8Array | undefined> {
  if (length === 0) return undefined;
  return length !== undefined && length <= GATHERED ? gathered(exchange, length) : new BodyStream(exchange);
}

function gathered(exchange: Exchange, length: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.allocUnsafe(length);
    let received = 0;
    exchange.receive({
      onChunk: (chunk) => {
        bytes.set(chunk, received);
        received += chunk.length;
      },
      onEnd: () => {
        resolve(bytes);
      },
      onExpired: () => {
        reject(tooSlow());
      },
    });
    exchange.atEnd(() => {
      resolve(undefined);
    });
  });
}

class BodyStream extends Readable {
  readonly #incoming;

  constructor(exchange: Exchange) {
    super({ highWaterMark: GATHERED });
    this.#incoming = exchange.receive({
      onChunk: (chunk) => {
        if (!this.destroyed && !this.push(chunk.slice())) this.#incoming.pause();
      },
      onEnd: () => {
        this.push(null);
      },
      onExpired: () => {
        this.destroy(tooSlow());
      },
    });
    this.#incoming.pause();
    exchange.atEnd(() => {
      if (exchange.isGone) this.destroy(new Error('the client went away'));
    });
  }

  override _read(): void {
    this.#incoming.resume();
  }

  /** Errors reach the client by what becomes of its request; a body that nobody reads has no other listener. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.on('error', () => undefined);
    callback(error);
  }
}
