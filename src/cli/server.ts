/**
 * A client of a running server. It answers within ANSWER_LIMIT_MS or counts as gone; of a stream that holds for
 * its beginning only, because a link may be silent for hours: the reason why this is node:http and not fetch,
 * which gives up after five silent minutes.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { CommandError } from './command-error.js';
import type { ServerAddress } from './server-address.js';

const CONNECT_LIMIT_MS = 700;
const ANSWER_LIMIT_MS = 2000;
const LONGEST_REFUSAL = 4096;

/** No answer came. */
export class Unreachable extends CommandError {
  override readonly name = 'Unreachable';
}

/** The server's answer is that it will not. */
export class Refused extends CommandError {
  override readonly name = 'Refused';
}

export class Server {
  readonly #address: ServerAddress;

  constructor(address: ServerAddress) {
    this.#address = address;
  }

  async list(path: string): Promise<Record<string, unknown>[]> {
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
    try {
      const list = parsed(await textOf(await this.#get(path, signal)));
      if (Array.isArray(list)) return list.filter(isRecord);
    } catch (error) {
      throw this.#explained(error, signal);
    }
    throw new Refused(`${this.#address.url.origin} answered no list: is that a Wirefarm server?`);
  }

  /** Whoever takes the answer destroys it, or reads it to its end. */
  async stream(path: string, query: URLSearchParams): Promise<IncomingMessage> {
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort();
    }, ANSWER_LIMIT_MS);
    try {
      return await this.#get(`${path}?${query.toString()}`, late.signal);
    } catch (error) {
      throw this.#explained(error, late.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async #get(path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const { url, authorization } = this.#address;
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const headers = authorization === undefined ? {} : { authorization };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(new URL(path, url), { headers, signal, timeout: CONNECT_LIMIT_MS }, resolve);
      sent.on('timeout', () => {
        if (sent.socket?.connecting !== false) sent.destroy(new Error('no connection'));
      });
      sent.on('error', reject);
      sent.end();
    });
    if (response.statusCode === 200) return response;
    throw new Refused(await this.#reasonOf(response));
  }

  async #reasonOf(response: IncomingMessage): Promise<string> {
    const status = response.statusCode ?? 0;
    const text = (await textOf(response)).slice(0, LONGEST_REFUSAL);
    if (status === 401)
      return `${this.#address.url.origin} wants a user: set WIREFARM_USER and WIREFARM_PASSWORD`;
    const body = parsed(text);
    if (isRecord(body) && typeof body['message'] === 'string') return body['message'];
    return `${this.#address.url.origin} answered ${status}: is that a Wirefarm server?`;
  }

  #explained(error: unknown, limit: AbortSignal): unknown {
    if (error instanceof CommandError) return error;
    const { origin } = this.#address.url;
    const reason = limit.aborted ? 'no answer in time' : reasonOf(error);
    return new Unreachable(
      `no server answers at ${origin} (${reason}): start it, or say where it is with --url or WIREFARM_URL`,
      { cause: error },
    );
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/** undefined is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) if (chunk instanceof Buffer) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
