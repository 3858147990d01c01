/** Receives and parses JSON request bodies, which are bounded in size, in time, in depth and in number of values. */
import { Refusal, refusals } from '../base/errors/errors.js';
import { jsonShape } from '../base/errors/validation.js';
import type { Exchange } from './exchange.js';

const LONGEST_SECONDS = 30;
const DRAIN_MS = 2000;
/** No client nests so deeply. A deeper body would overflow the stack of code that walks it. */
const DEEPEST = 64;
/** A switch has as many mappings. To look at each member of a wider object would hold the HTTP thread. */
const MOST_MEMBERS = 16_384;
/** The largest lab file with a filter on each link has 225,000. A MiB of empty lists would hold the thread for a tenth of a second. */
const HIGHEST_COST = 250_000;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Sees a body that has been parsed: its bytes, the text that they are, and the value. */
export type BodyLook = (bytes: Uint8Array, text: string, value: unknown) => void;

/** Resolves with the parsed body; undefined when the client went away before it was whole. */
export function readJsonBody(exchange: Exchange, limit: number, look?: BodyLook): Promise<unknown> {
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
        resolve(Promise.resolve(chunks).then((all) => parseJsonBody(joined(all), look)));
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

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}

/** The body is not JSON; its `text` is shown to the client. */
export class MalformedJson extends Refusal {
  constructor(
    reason: string,
    readonly text: string,
  ) {
    super(400, 'json_malformed', `Invalid JSON ${reason}`);
  }
}

/**
 * Parses a body, of which an empty one counts as an empty object. Refuses (400) what is no JSON, nests too deeply, or
 * has too wide an object.
 */
export function parseJsonBody(bytes: Uint8Array, look?: BodyLook): unknown {
  const text = decode(bytes);
  const value = bytes.length === 0 ? {} : parseJson(text);
  look?.(bytes, text, value);
  return value;
}

function parseJson(text: string): unknown {
  const { depth, members, cost } = jsonShape(text);
  if (depth > DEEPEST) throw new MalformedJson(`nested deeper than ${DEEPEST} levels`, text);
  if (members > MOST_MEMBERS)
    throw new MalformedJson(`with an object of more than ${MOST_MEMBERS} members`, text);
  if (cost > HIGHEST_COST) throw new MalformedJson('of too many values', text);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new MalformedJson(error instanceof Error ? error.message : String(error), text);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new MalformedJson('that is not UTF-8', Buffer.from(bytes).toString('latin1'));
  }
}
