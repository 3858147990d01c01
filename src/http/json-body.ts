/** Collects a JSON request body: bounded in size and in time. */
import { refusals } from '../base/errors/errors.js';
import type { Exchange } from './exchange.js';
import { parseJsonBody } from './json-text.js';

const LONGEST_SECONDS = 30;
const DRAIN_MS = 2000;

/** Resolves with the parsed body; undefined when the client went away before it was whole. */
export function readJsonBody(exchange: Exchange, limit: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let length = 0;
    const refuse = (error: Error): void => {
      clearTimeout(deadline);
      incoming.stop();
      reject(error);
    };
    const deadline = setTimeout(() => {
      refuse(refusals.requestTooSlow(LONGEST_SECONDS));
    }, LONGEST_SECONDS * 1000);
    const incoming = exchange.receive({
      onChunk(bytes) {
        length += bytes.length;
        if (length <= limit) {
          chunks.push(bytes.slice());
          return;
        }
        clearTimeout(deadline);
        void incoming.drain(DRAIN_MS).then(() => {
          refuse(refusals.bodyTooLarge(limit));
        });
      },
      onEnd() {
        clearTimeout(deadline);
        // A parse that throws rejects.
        resolve(Promise.resolve(chunks).then(parseChunks));
      },
      onExpired() {
        refuse(refusals.requestTooSlow(LONGEST_SECONDS));
      },
    });
    exchange.atEnd(() => {
      clearTimeout(deadline);
      if (exchange.isGone) resolve(undefined);
    });
  });
}

function parseChunks(chunks: readonly Uint8Array[]): unknown {
  const [only] = chunks;
  return parseJsonBody(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks));
}
