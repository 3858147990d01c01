/** Requests to one compute, bounded in time and in size. Redirects are not followed. */
import { Agent as PlainAgent, request as requestPlain, type IncomingMessage } from 'node:http';
import { Agent as GuardedAgent, request as requestGuarded } from 'node:https';
import { refusals } from '../../base/errors/errors.js';
import type { Compute, ComputeCall } from '../../lab/other-computes.js';
import { lookupInTurn } from './name-lookup.js';

/** An answer with a list of images of a large farm is below this. */
const LARGEST_ANSWER = 8 * 1024 * 1024;
const LONGEST_REASON = 300;
/** The word of GNS3 for an image that a compute does not have. */
const IMAGE_MISSING = 'ImageMissingError';
const MOST_SOCKETS = 16;

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** The compute did not answer at all, or not in time. */
export class SilentCompute extends Error {}

export class ComputeClient {
  readonly compute: Compute;
  readonly #agent: PlainAgent;
  /** Ends all requests. */
  readonly #ending = new AbortController();

  constructor(compute: Compute) {
    this.compute = compute;
    const options = { keepAlive: true, maxSockets: MOST_SOCKETS };
    this.#agent = compute.protocol === 'https' ? new GuardedAgent(options) : new PlainAgent(options);
  }

  get headers(): Record<string, string> {
    const { user, password } = this.compute;
    if (user === null || user === '') return {};
    const words = Buffer.from(`${user}:${password ?? ''}`).toString('base64');
    return { authorization: `Basic ${words}` };
  }

  /** `http` or `ws` is the word before the address. */
  address(word: 'http' | 'ws', path: string): string {
    const { protocol, host, port } = this.compute;
    const name = host === '0.0.0.0' ? '127.0.0.1' : host;
    const shown = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
    return `${word}${protocol === 'https' ? 's' : ''}://${shown}:${port}/v2/compute${path}`;
  }

  /** The JSON of the answer; undefined when there is none. Refuses what the compute refuses. */
  async ask(call: ComputeCall, deadlineMs: number): Promise<unknown> {
    const { status, text } = await this.#send(call, deadlineMs);
    if (status >= 300) throw this.refusal(call, status, text);
    if (text === '') return undefined;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw refusals.notACompute(this.compute.name);
    }
  }

  close(): void {
    this.#ending.abort();
    this.#agent.destroy();
  }

  async #send({ method, path, body }: ComputeCall, deadlineMs: number): Promise<Answer> {
    const send = this.compute.protocol === 'https' ? requestGuarded : requestPlain;
    const text = body === undefined ? '' : JSON.stringify(body);
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(deadlineMs)]);
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const request = send(this.address('http', path), {
          method,
          signal,
          agent: this.#agent,
          lookup: lookupInTurn,
          headers: {
            ...this.headers,
            ...(text === '' ? {} : { 'content-type': 'application/json' }),
            'content-length': Buffer.byteLength(text),
          },
        });
        request.on('response', resolve);
        request.on('error', reject);
        request.end(text);
      });
      return { status: response.statusCode ?? 0, text: await wholeText(response) };
    } catch (error) {
      throw new SilentCompute(signal.aborted ? 'it took too long' : reasonOf(error), { cause: error });
    }
  }

  /** The refusal of a compute, in its words. */
  refusal({ method, path }: Pick<ComputeCall, 'method' | 'path'>, status: number, text: string): Error {
    const { name } = this.compute;
    if (status === 401) return refusals.computeUnauthorized(name);
    if (status === 404)
      return refusals.computeRefused(name, 404, wordIn(text, 'message') ?? `${method} ${path} not found`);
    if (wordIn(text, 'code') === refusals.computeIsSelf().code) return refusals.computeIsSelf();
    const image = wordIn(text, 'exception') === IMAGE_MISSING ? wordIn(text, 'image') : undefined;
    if (image !== undefined) return refusals.computeLacksImage(name, image);
    const shown = status === 400 || status === 403 || status === 507 ? status : 409;
    return refusals.computeRefused(
      name,
      shown,
      wordIn(text, 'message') ?? `it answered ${method} ${path} with ${status}`,
    );
  }
}

export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_REASON);
}

async function wholeText(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > LARGEST_ANSWER) throw new Error('its answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** A word of a refusal of a compute. */
function wordIn(text: string, name: 'message' | 'code' | 'exception' | 'image'): string | undefined {
  try {
    const { [name]: word } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return typeof word === 'string' && word !== '' ? word.slice(0, LONGEST_REASON) : undefined;
  } catch {
    return undefined;
  }
}
