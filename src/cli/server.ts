/**
 * A client of a running server. `list` and `stream` are for Wireshark, which waits for them: a server that does not
 * answer in time counts as gone. A stream may then be silent for hours, which is why this uses node:http:
 * fetch gives up after five silent minutes. Transfers of files use `ask`, and may take as long as bytes move.
 */
import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CommandError } from './command-error.js';
import type { ServerAddress } from './server-address.js';

const CONNECT_LIMIT_MS = 700;
const ANSWER_LIMIT_MS = 2000;
/** A capture that somebody has asked for may take longer to begin than a list for which the window stands still. */
const STREAM_LIMIT_MS = 15_000;
/** An answer that refuses names the faults of what was sent. */
const LONGEST_REFUSAL = 65_536;
/** A transfer without any progress for so long has failed. */
const SILENCE_LIMIT_MS = 60_000;
/** Servers may read a large file again before they answer, to verify it or to list its MD5. */
export const WORK_LIMIT_MS = 15 * 60_000;

/** No answer came, or it broke off. */
export class Unreachable extends CommandError {
  override readonly name = 'Unreachable';
  /** The cause in a few words. */
  readonly reason: string;

  constructor(message: string, reason: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** The server has refused the request. */
export class Refused extends CommandError {
  override readonly name = 'Refused';
  /** The wrong parts of the body that was sent, if the server names them. */
  readonly faults: readonly Fault[];

  constructor(message: string, faults: readonly Fault[] = []) {
    super(message);
    this.faults = faults;
  }
}

interface Fault {
  readonly path: readonly (string | number)[];
  readonly reason: string;
}

interface Question {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The content of the request. `ask` throws an error of it. */
  readonly body?: AsyncIterable<Uint8Array>;
  /** How long the server may be silent between the request and the answer. */
  readonly workMs?: number;
  readonly signal: AbortSignal;
}

type Asked = Omit<RequestOptions, 'headers'> & Pick<Question, 'headers'>;

export class Server {
  readonly #address: ServerAddress;

  constructor(address: ServerAddress) {
    this.#address = address;
  }

  get origin(): string {
    return this.#address.url.origin;
  }

  async list(path: string): Promise<Record<string, unknown>[]> {
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
    try {
      return this.#listOf(await textOf(await this.#get(path, signal)));
    } catch (error) {
      throw this.#explained(error, signal);
    }
  }

  /** A list that may take long; undefined if the server does not have it. */
  async slowList(path: string, signal: AbortSignal): Promise<Record<string, unknown>[] | undefined> {
    const response = await this.ask(path, { method: 'GET', workMs: WORK_LIMIT_MS, signal });
    if (response.statusCode === 404) {
      response.destroy();
      return undefined;
    }
    if (response.statusCode !== 200) throw await this.refusal(response);
    return this.#listOf(await this.textOf(response));
  }

  /** The value that the server answers; undefined when the answer is empty. The body is sent as JSON. */
  async json(method: string, path: string, body?: unknown): Promise<unknown> {
    const signal = new AbortController().signal;
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(bytes?.length ?? 0) };
    const sent = bytes === undefined ? {} : { headers, body: Readable.from([bytes]) };
    const response = await this.ask(path, { method, workMs: WORK_LIMIT_MS, signal, ...sent });
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw await this.refusal(response);
    return parsed(await this.textOf(response));
  }

  /** The caller must destroy the answer or read it to its end. */
  async stream(path: string, query: URLSearchParams): Promise<IncomingMessage> {
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort();
    }, STREAM_LIMIT_MS);
    try {
      return await this.#get(`${path}?${query.toString()}`, late.signal);
    } catch (error) {
      throw this.#explained(error, late.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Returns any answer, whatever its status. The caller must destroy it or read it to its end. */
  async ask(path: string, question: Question): Promise<IncomingMessage> {
    const { method, headers = {}, body, workMs = SILENCE_LIMIT_MS, signal } = question;
    // A connection is not used again after a body, because the server may not have read all of it.
    const agent = body === undefined ? {} : { agent: false };
    const sent = this.#request(path, { method, headers, signal, timeout: SILENCE_LIMIT_MS, ...agent });
    const state = { isAnswered: false };
    try {
      return await new Promise<IncomingMessage>((resolve, reject) => {
        sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
        sent.on('finish', () => sent.setTimeout(workMs));
        sent.on('error', reject);
        sent.on('response', (response) => {
          state.isAnswered = true;
          sent.setTimeout(SILENCE_LIMIT_MS);
          if (body !== undefined) response.once('end', () => sent.destroy());
          resolve(response);
        });
        if (body === undefined) sent.end();
        else pipeline(whileWanted(body, state), sent).catch(reject);
      });
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** The answer as text. Throws Unreachable when it breaks off. */
  async textOf(response: IncomingMessage): Promise<string> {
    try {
      return await textOf(response);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** The error for an answer that refuses. */
  async refusal(response: IncomingMessage): Promise<Refused> {
    try {
      return await this.#refused(response);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** The error for a connection that broke. */
  broken(error: unknown): Unreachable {
    const reason = reasonOf(error);
    return new Unreachable(`the connection to ${this.origin} broke (${reason})`, reason, { cause: error });
  }

  async #get(path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = this.#request(path, { signal, timeout: CONNECT_LIMIT_MS });
      sent.on('response', resolve);
      sent.on('timeout', () => {
        if (sent.socket?.connecting !== false) sent.destroy(new Error('no connection'));
      });
      sent.on('error', reject);
      sent.end();
    });
    if (response.statusCode === 200) return response;
    throw await this.#refused(response);
  }

  #request(path: string, options: Asked): ClientRequest {
    const { url, authorization, ca } = this.#address;
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const trust = ca === undefined ? {} : { ca };
    const headers = { ...options.headers, ...(authorization === undefined ? {} : { authorization }) };
    return request(new URL(path, url), { ...options, ...trust, headers });
  }

  #listOf(text: string): Record<string, unknown>[] {
    const list = parsed(text);
    if (Array.isArray(list)) return list.filter(isRecord);
    throw new Refused(`${this.origin} answered no list: is that a Wirefarm server?`);
  }

  async #refused(response: IncomingMessage): Promise<Refused> {
    const status = response.statusCode ?? 0;
    const text = (await textOf(response)).slice(0, LONGEST_REFUSAL);
    if (status === 401)
      return new Refused(`${this.origin} wants a user: set WIREFARM_USER and WIREFARM_PASSWORD`);
    const body = parsed(text);
    if (isRecord(body) && typeof body['message'] === 'string')
      return new Refused(body['message'], faultsIn(body['faults']));
    return new Refused(`${this.origin} answered ${status}: is that a Wirefarm server?`);
  }

  #explained(error: unknown, limit?: AbortSignal): unknown {
    if (error instanceof CommandError) return error;
    const reason = limit?.aborted === true ? 'no answer in time' : reasonOf(error);
    return new Unreachable(
      `no server answers at ${this.origin} (${reason}): start it, or say where it is with --url or WIREFARM_URL`,
      reason,
      { cause: error },
    );
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/** Stops the body when the server has answered early. */
async function* whileWanted(
  body: AsyncIterable<Uint8Array>,
  state: { readonly isAnswered: boolean },
): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) {
    if (state.isAnswered) return;
    yield bytes;
  }
}

function faultsIn(list: unknown): Fault[] {
  if (!Array.isArray(list)) return [];
  return list.filter(isRecord).flatMap(({ path, reason }) => {
    if (!Array.isArray(path) || typeof reason !== 'string') return [];
    return [{ path: path.filter((part) => typeof part === 'string' || typeof part === 'number'), reason }];
  });
}

/** Undefined for text that is not JSON. */
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
