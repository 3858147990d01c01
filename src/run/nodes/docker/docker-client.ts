/**
 * Requests to a Docker engine over its Unix socket. Podman's service speaks the same language. Answers are bounded; a
 * refusal of the engine is an error with the engine's own sentence.
 */
import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { z } from 'zod';
import { systemCode } from '../../../base/errors/errors.js';

/** The newest version of the interface that this client knows, and the oldest that has all it needs. */
const NEWEST = [1, 44] as const;
const OLDEST = [1, 40] as const;
const LARGEST_ANSWER = 8 * 1024 * 1024;
const LONGEST_LINE = 64 * 1024;
const LONGEST_REASON = 2000;
/** An engine that says nothing for so long is not waited for. */
const SILENCE_MS = 60_000;
const HTTP = { switching: 101, good: 200, firstBad: 300 } as const;

const versionAnswer = z.object({ ApiVersion: z.string() });
const refusalAnswer = z.object({ message: z.string() });

type DockerQuery = Readonly<Record<string, string>>;

interface DockerRequest {
  readonly query?: DockerQuery;
  readonly body?: unknown;
  /** How long the engine may say nothing; 0 is without end. */
  readonly silenceMs?: number;
}

/** The engine refused a request, or cannot be reached: then the status is 0. The message is meant for the client. */
export class DockerError extends Error {
  override readonly name = 'DockerError';

  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export class DockerClient {
  readonly #socketPath: string;
  #version: string | undefined;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** Agrees with the engine on a version of the interface. Rejects with a reason for the user. */
  async open(): Promise<void> {
    const response = await this.#send('GET', '/version', { silenceMs: 5000 }, {});
    const { ApiVersion: offered } = versionAnswer.parse(JSON.parse(await textOf(response)));
    const [major = 0, minor = 0] = offered.split('.').map(Number);
    if (isBefore([major, minor], OLDEST))
      throw new DockerError(0, `the container engine speaks version ${offered} only, which is too old`);
    this.#version = (isBefore([major, minor], NEWEST) ? [major, minor] : NEWEST).join('.');
  }

  /** Resolves with the parsed answer; undefined when it is empty. */
  async ask(method: 'GET' | 'POST' | 'DELETE', path: string, wanted: DockerRequest = {}): Promise<unknown> {
    const text = await textOf(await this.#send(method, await this.#path(path, wanted.query), wanted, {}));
    return text.trim() === '' ? undefined : parsed(text);
  }

  /** Calls `received` with each line of the answer, which is a JSON value. */
  async askForLines(path: string, query: DockerQuery, received: (line: unknown) => void): Promise<void> {
    const response = await this.#send('POST', await this.#path(path, query), {}, {});
    let rest = '';
    for await (const piece of response.setEncoding('utf8')) {
      const lines = (rest + String(piece)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LONGEST_LINE) throw new DockerError(0, 'the container engine sent too long a line');
      for (const line of lines) if (line.trim() !== '') received(parsed(line));
    }
    if (rest.trim() !== '') received(parsed(rest));
  }

  /** A connection that carries the raw bytes of a terminal both ways. */
  async connect(path: string, wanted: DockerRequest = {}): Promise<Socket> {
    const target = await this.#path(path, wanted.query);
    const upgrade = { Connection: 'Upgrade', Upgrade: 'tcp' };
    return new Promise((resolve, reject) => {
      const asked = this.#request('POST', target, wanted, upgrade);
      asked.once('upgrade', (_response, socket, head) => {
        socket.setTimeout(0);
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
      asked.once('response', (response) => {
        checked(response).then(
          () => {
            response.destroy();
            reject(new DockerError(0, 'the container engine gave no connection to the terminal'));
          },
          (error: unknown) => {
            reject(error instanceof Error ? error : new Error(String(error)));
          },
        );
      });
      asked.once('error', (error) => {
        reject(unreachable(error));
      });
      asked.end(bodyOf(wanted));
    });
  }

  async #path(path: string, query: DockerQuery = {}): Promise<string> {
    if (this.#version === undefined) await this.open();
    const search = new URLSearchParams(query).toString();
    return `/v${this.#version ?? ''}${path}${search === '' ? '' : `?${search}`}`;
  }

  #request(method: string, path: string, wanted: DockerRequest, headers: Readonly<Record<string, string>>) {
    const body = bodyOf(wanted);
    const described = {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
    };
    const asked = request({
      ...{ socketPath: this.#socketPath, method, path, agent: false },
      headers: { Host: 'docker', ...(body === '' ? {} : described), ...headers },
      timeout: wanted.silenceMs ?? SILENCE_MS,
    });
    asked.on('timeout', () => {
      asked.destroy(new DockerError(0, 'the container engine does not answer'));
    });
    return asked;
  }

  async #send(
    method: string,
    path: string,
    wanted: DockerRequest,
    headers: Readonly<Record<string, string>>,
  ): Promise<IncomingMessage> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = this.#request(method, path, wanted, headers);
      asked.once('response', resolve);
      asked.on('error', (error) => {
        reject(unreachable(error));
      });
      asked.end(bodyOf(wanted));
    });
    await checked(response);
    return response;
  }
}

async function checked(response: IncomingMessage): Promise<void> {
  const { statusCode: status = 0 } = response;
  if (status >= HTTP.good && status < HTTP.firstBad) return;
  // 304: it is so already.
  if (status === 304) return;
  const text = await textOf(response);
  const told = refusalAnswer.safeParse(maybeParsed(text));
  const reason = told.success ? told.data.message : text;
  throw new DockerError(status, reason.trim().slice(0, LONGEST_REASON) || `status ${status}`);
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const piece of response.setEncoding('utf8')) {
      text += String(piece);
      if (text.length > LARGEST_ANSWER) throw new DockerError(0, 'the container engine sent too much');
    }
  } catch (error) {
    response.destroy();
    throw unreachable(error);
  }
  return text;
}

function bodyOf({ body }: DockerRequest): string {
  return body === undefined ? '' : JSON.stringify(body);
}

function parsed(text: string): unknown {
  const value = maybeParsed(text);
  if (value === undefined) throw new DockerError(0, 'the container engine sent no JSON');
  return value;
}

function maybeParsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreachable(error: unknown): DockerError {
  if (error instanceof DockerError) return error;
  return new DockerError(0, `the container engine cannot be reached (${systemCode(error) ?? String(error)})`);
}

function isBefore(one: readonly [number, number], other: readonly [number, number]): boolean {
  return one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);
}
