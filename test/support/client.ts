/**
 * An HTTP client that holds every answer against the route table: a status that the route does not declare, or
 * a body that its schema does not allow, is an error of the test.
 */
import { once } from 'node:events';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { z } from 'zod';
import { routeTable, type Services } from '../../src/api/table.js';
import { errorBody } from '../../src/api/schemas.js';
import type { AnswerKind, Route } from '../../src/http/route.js';
import { describeIssues } from '../../src/base/errors/validation.js';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when it is empty or no JSON. */
  readonly body: unknown;
}

/** The table needs what is in them only when a handler runs, and here none does. */
const SERVICES: unknown = { controller: {}, compute: {} };
const TABLE = routeTable(SERVICES as Services);
const ROUTES = new Map<string, Route>(TABLE.routes.map((route) => [`${route.method} ${route.path}`, route]));

/** `fetch` takes three times the CPU time. */
const AGENT = new Agent({ keepAlive: true });

export class Client {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  get(path: string): Promise<Reply> {
    return this.request('GET', path);
  }

  post(path: string, body?: unknown): Promise<Reply> {
    return this.request('POST', path, body);
  }

  put(path: string, body?: unknown): Promise<Reply> {
    return this.request('PUT', path, body);
  }

  delete(path: string): Promise<Reply> {
    return this.request('DELETE', path);
  }

  /** `body` is sent as JSON, but bytes and strings as they are. */
  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    // A connection that the server closed while this process was busy must be noticed before it is used again. That
    // takes one whole turn of the event loop, and the first of these may end within the turn that has just begun.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
    const raw = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    // Node.js sends the body of a DELETE without its length otherwise.
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(raw) };
    const exchange = request(this.#url + path, {
      method,
      agent: AGENT,
      headers: { ...length, ...this.#headers, ...headers },
    });
    exchange.end(raw);
    const { response, text } = await answerTo(exchange);
    const answered = new Headers(response.headers as Record<string, string>);
    const reply = {
      status: response.statusCode ?? 0,
      headers: answered,
      text,
      body: parsed(answered, text),
    };
    checkReply(method, path, reply);
    return reply;
  }

  /** The body of a request that must succeed with this status. */
  async expect(
    status: number,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Record<string, unknown>> {
    const reply = await this.request(method, path, body);
    if (reply.status !== status) {
      throw new Error(`${method} ${path}: ${reply.status} instead of ${status}: ${reply.text}`);
    }
    return (reply.body ?? {}) as Record<string, unknown>;
  }
}

/**
 * A request that begins a job of a project, as if it were answered at the end of the job: 200 with its result, or the
 * refusal for which it failed.
 */
export async function finished(client: Client, method: string, path: string): Promise<Reply> {
  const reply = await client.request(method, path);
  if (reply.status !== 202) return reply;
  const [project = ''] = /^\/v2\/projects\/[^/]+/.exec(path) ?? [];
  const at = `${project}/jobs/${String((reply.body as Record<string, unknown>)['job_id'])}`;
  for (;;) {
    const job = await client.get(at);
    const { outcome, result, reason, code, status } = (job.body ?? {}) as Record<string, unknown>;
    const end = { headers: reply.headers, text: job.text };
    if (job.status !== 200) return job;
    if (outcome === 'done') return { ...end, status: 200, body: result };
    if (outcome !== undefined)
      return { ...end, status: Number(status), body: { message: reason, code, status } };
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The result of a job that must be done. */
export async function resultOf(
  client: Client,
  method: string,
  path: string,
): Promise<Record<string, unknown>> {
  const { status, body, text } = await finished(client, method, path);
  if (status !== 200) throw new Error(`${method} ${path}: ${status}: ${text}`);
  return (body ?? {}) as Record<string, unknown>;
}

/** A request that was not answered: the server may have gone. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

async function answerTo(exchange: ClientRequest): Promise<{ response: IncomingMessage; text: string }> {
  try {
    const [response] = (await once(exchange, 'response')) as [IncomingMessage];
    return { response, text: await textOf(response) };
  } catch (error) {
    throw new Unanswered(`${exchange.method} ${exchange.path}: ${String(error)}`, { cause: error });
  }
}

function parsed(headers: Headers, text: string): unknown {
  return headers.get('content-type') === 'application/json' && text !== '' ? JSON.parse(text) : undefined;
}

/** Throws when the reply is none that the route declares. */
export function checkReply(method: string, path: string, reply: Reply): void {
  const problem = problemOf(method, reply);
  if (problem !== undefined)
    throw new Error(`${method} ${path} answered ${reply.status} ${reply.text}: ${problem}`);
}

function problemOf(method: string, reply: Reply): string | undefined {
  if (reply.status >= 400) return method === 'HEAD' ? undefined : schemaProblem(errorBody, reply.body);
  const template = reply.headers.get('x-route') ?? '';
  const route = ROUTES.get(`${method === 'HEAD' ? 'GET' : method} ${template}`);
  if (method === 'OPTIONS') return undefined;
  if (route === undefined) return `no route ${method} ${template} is declared`;
  const kind: AnswerKind | undefined = route.answers[reply.status];
  if (kind === undefined) return 'the route does not declare this status';
  if (kind === null) return reply.text === '' ? undefined : 'the route declares no body';
  if (method === 'HEAD' || !(kind instanceof z.ZodType)) return undefined;
  return schemaProblem(kind, reply.body);
}

function schemaProblem(schema: z.ZodType, body: unknown): string | undefined {
  const result = schema.safeParse(body);
  return result.success ? undefined : describeIssues(result.error);
}
