/** A client of etcd: its JSON gateway, over several servers. Each call has a deadline of its own. */
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  EtcdError,
  etcdTransport,
  isTokenRefused,
  tlsProblem,
  type EtcdAccess,
  type EtcdTransport,
} from './etcd-access.js';
import { EtcdToken, NotLoggedIn } from './etcd-token.js';
import type { KeyRange } from './etcd-keys.js';

const DEADLINE_MS = 2000;
const LONGEST_ANSWER = 256 * 1024 * 1024;

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  readonly created: number;
  readonly modified: number;
}

export type StoredCondition =
  | { readonly key: string; readonly created: number }
  | { readonly key: string; readonly modified: number };

export type Operation =
  | { readonly put: string; readonly value: Uint8Array; readonly lease?: string | undefined }
  | { readonly remove: KeyRange }
  | { readonly range: KeyRange; readonly limit?: number }
  /** They are applied as one, and etcd counts them apart: a transaction may have more operations that way. */
  | { readonly all: readonly Operation[] };

export interface RangeAnswer {
  readonly records: readonly KeyValue[];
  /** Whether the limit has cut it off. */
  readonly hasMore: boolean;
}

export interface TransactionAnswer {
  readonly succeeded: boolean;
  readonly revision: number;
  /** The answers to the ranges, in their order. */
  readonly ranges: readonly RangeAnswer[];
}

/** There was no answer that tells whether it was done. */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome';

  constructor(
    /** Whether a server may have got the request. */
    readonly wasSent: boolean,
    cause: unknown,
  ) {
    super('etcd does not answer', { cause });
  }
}

interface RawKeyValue {
  readonly key: string;
  readonly value?: string;
  readonly create_revision?: string;
  readonly mod_revision?: string;
}

interface RawRange {
  readonly kvs?: readonly RawKeyValue[];
  readonly more?: boolean;
}

interface RawHeader {
  readonly revision?: string;
}

interface RawTransaction {
  readonly header: RawHeader;
  readonly succeeded?: boolean;
  readonly responses?: readonly {
    readonly response_range?: RawRange;
    readonly response_txn?: RawTransaction;
  }[];
}

/** A message of a watch. */
export interface WatchMessage {
  readonly header: RawHeader;
  readonly created?: boolean;
  readonly canceled?: boolean;
  readonly compact_revision?: string;
  readonly events?: readonly { readonly type?: 'DELETE'; readonly kv: RawKeyValue }[];
}

/** gRPC codes after which nobody knows: cancelled, unknown, deadline, aborted, internal, unavailable. */
const UNSETTLED = new Set([1, 2, 4, 10, 13, 14]);
const INVALID = 3;
/** They are said before anything is done. */
const BUSY = ['etcdserver: too many requests'];
const SPACE = 'etcdserver: mvcc: database space exceeded';
const COMPACTED = 'etcdserver: mvcc: required revision has been compacted';

export const isSpaceExceeded = (error: unknown): boolean => hasReason(error, SPACE);
export const isCompacted = (error: unknown): boolean => hasReason(error, COMPACTED);

/** Also of an error that came after a request without an answer. */
function hasReason(error: unknown, reason: string): boolean {
  if (error instanceof UnknownOutcome) return hasReason(error.cause, reason);
  return error instanceof EtcdError && error.reason === reason;
}

export class EtcdClient {
  readonly #servers: readonly string[];
  readonly #transport: EtcdTransport;
  readonly #token: EtcdToken | undefined;
  /** The server that is asked first: the last one that has answered. */
  #first = 0;

  constructor(servers: readonly string[], access?: EtcdAccess) {
    this.#servers = servers;
    this.#transport = etcdTransport(servers, access);
    const login = access?.login;
    this.#token = login && new EtcdToken(login, (server, path, body) => this.#post(server, path, body));
  }

  /** It may be sent to several servers, and happen more than once: the conditions must make that harmless. */
  async transaction(
    conditions: readonly StoredCondition[],
    then: readonly Operation[],
    otherwise: readonly Operation[] = [],
  ): Promise<TransactionAnswer> {
    const body = {
      compare: conditions.map(rawCondition),
      success: then.map(rawOperation),
      failure: otherwise.map(rawOperation),
    };
    const answer = (await this.#call('kv/txn', body)) as RawTransaction;
    return {
      succeeded: answer.succeeded === true,
      revision: Number(answer.header.revision),
      ranges: rangesOf(answer),
    };
  }

  /** A page of a range as of a revision. */
  async range(range: KeyRange, revision: number, limit: number): Promise<RangeAnswer> {
    const body = { ...rawRange(range), revision: String(revision), limit: String(limit) };
    return rangeAnswer((await this.#call('kv/range', body)) as RawRange);
  }

  /** The id of a new lease. One that nobody has heard of ends by itself, so this may be repeated. */
  async grant(seconds: number): Promise<string> {
    const { ID } = (await this.#call('lease/grant', { TTL: String(seconds) })) as { ID: string };
    return ID;
  }

  /** Whether the lease was there, and lives on. */
  async keepAlive(lease: string): Promise<boolean> {
    const answer = (await this.#call('lease/keepalive', { ID: lease })) as { result?: { TTL?: string } };
    return Number(answer.result?.TTL ?? 0) > 0;
  }

  async revoke(lease: string): Promise<void> {
    await this.#call('lease/revoke', { ID: lease });
  }

  /** The messages of a watch, until the signal or the server ends it. */
  async *watch(range: KeyRange, revision: number, signal: AbortSignal): AsyncGenerator<WatchMessage> {
    const create = { ...rawRange(range), start_revision: String(revision) };
    const server = this.#servers[this.#first] ?? '';
    let token: string | undefined;
    let stands = false;
    try {
      token = await this.#token?.of(server);
      const response = await send(`${server}/v3/watch`, JSON.stringify({ create_request: create }), {
        transport: this.#transport,
        signal,
        // A server that has lost its leader ends the watch, instead of being silent.
        headers: { 'grpc-metadata-hasleader': 'true', ...authorization(token) },
      });
      for await (const line of lines(response)) {
        const message = JSON.parse(line) as { result?: WatchMessage };
        if (message.result === undefined) break;
        stands ||= message.result.canceled !== true;
        yield message.result;
      }
    } catch (error) {
      if (!signal.aborted) this.#first = (this.#servers.indexOf(server) + 1) % this.#servers.length;
      throw error;
    } finally {
      if (!stands && token !== undefined) await this.#token?.forget(token);
    }
  }

  close(): void {
    this.#transport.agent.destroy();
  }

  async #call(path: string, body: unknown): Promise<unknown> {
    const sent = JSON.stringify(body);
    let wasSent = false;
    let problem: unknown;
    const [before, after] = [this.#servers.slice(0, this.#first), this.#servers.slice(this.#first)];
    for (const server of [...after, ...before]) {
      try {
        return await this.#ask(server, path, sent);
      } catch (error) {
        problem = error;
        if (error instanceof EtcdError) {
          if (!wasSent) throw error;
          break;
        }
        wasSent ||= !isUnsent(error);
        this.#first = (this.#servers.indexOf(server) + 1) % this.#servers.length;
      }
    }
    throw new UnknownOutcome(wasSent, problem);
  }

  async #ask(server: string, path: string, body: string): Promise<unknown> {
    const token = await this.#token?.of(server);
    try {
      return await this.#post(server, path, body, token);
    } catch (error) {
      if (this.#token === undefined || token === undefined || !isTokenRefused(error)) throw error;
      await this.#token.forget(token);
      return this.#post(server, path, body, await this.#token.of(server));
    }
  }

  async #post(server: string, path: string, body: string, token?: string): Promise<unknown> {
    const response = await send(`${server}/v3/${path}`, body, {
      transport: this.#transport,
      signal: AbortSignal.timeout(DEADLINE_MS),
      headers: authorization(token),
    });
    const answer = answerOf(await text(response), response.statusCode);
    if (response.statusCode === 200 && answer.error === undefined) return answer;
    const { code = 2, error = `status ${response.statusCode}` } = answer;
    const failure = new EtcdError(code, error);
    if (UNSETTLED.has(code) || BUSY.includes(error))
      throw new Error('etcd could not do it', { cause: failure });
    throw failure;
  }
}

/** Requests that are refused before the gateway has them are answered by a bare line. */
function answerOf(body: string, status = 0): { readonly error?: string; readonly code?: number } {
  if (status === 400 && !body.startsWith('{')) return { code: INVALID, error: body.trim() };
  return JSON.parse(body) as { error?: string; code?: number };
}

/** By `accept` etcd knows its gateway, and does not take it for the user that the gateway's own certificate names. */
const JSON_BOTH_WAYS = { 'content-type': 'application/json', accept: 'application/json' };

const authorization = (token = ''): Readonly<Record<string, string>> =>
  token === '' ? {} : { authorization: token };

interface SendOptions {
  readonly transport: EtcdTransport;
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
}

/** Rejects when the head of the answer does not come in time. */
function send(
  url: string,
  body: string,
  { transport, signal, headers }: SendOptions,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = transport.request(url, {
      ...{ agent: transport.agent, signal, method: 'POST' },
      headers: { ...headers, ...JSON_BOTH_WAYS, 'content-length': Buffer.byteLength(body) },
    });
    const late = setTimeout(() => sent.destroy(new Error('etcd does not answer in time')), DEADLINE_MS);
    sent.once('response', (response) => {
      clearTimeout(late);
      resolve(response);
    });
    sent.once('error', (error) => {
      clearTimeout(late);
      reject(error);
    });
    sent.end(body);
  });
}

/** Whether the connection was refused, or there was none that could be used, so that nothing was sent. */
function isUnsent(error: unknown): boolean {
  if (error instanceof NotLoggedIn || tlsProblem(error) !== undefined) return true;
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
}

async function* lines(response: IncomingMessage): AsyncGenerator<string> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)]).toString();
      pieces = [];
      length = 0;
      start = end + 1;
    }
    pieces.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > LONGEST_ANSWER) throw new Error('etcd sends a message without end');
  }
}

const base64 = (key: string): string => Buffer.from(key).toString('base64');

function rawRange({ from, to }: KeyRange): { key: string; range_end?: string } {
  return to === undefined ? { key: base64(from) } : { key: base64(from), range_end: base64(to) };
}

function rawCondition(condition: StoredCondition): unknown {
  const key = base64(condition.key);
  return 'created' in condition
    ? { key, target: 'CREATE', result: 'EQUAL', create_revision: String(condition.created) }
    : { key, target: 'MOD', result: 'EQUAL', mod_revision: String(condition.modified) };
}

function rawOperation(operation: Operation): unknown {
  if ('put' in operation) {
    const { put, value, lease } = operation;
    const encoded = Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64');
    return { request_put: { key: base64(put), value: encoded, ...(lease !== undefined && { lease }) } };
  }
  if ('remove' in operation) return { request_delete_range: rawRange(operation.remove) };
  if ('range' in operation) {
    const limit = operation.limit === undefined ? {} : { limit: String(operation.limit) };
    return { request_range: { ...rawRange(operation.range), ...limit } };
  }
  return { request_txn: { success: operation.all.map(rawOperation) } };
}

function rangesOf({ responses = [] }: RawTransaction): RangeAnswer[] {
  return responses.flatMap(({ response_range: range, response_txn: inner }) => {
    if (range !== undefined) return [rangeAnswer(range)];
    return inner === undefined ? [] : rangesOf(inner);
  });
}

function rangeAnswer({ kvs = [], more = false }: RawRange): RangeAnswer {
  return { records: kvs.map(keyValue), hasMore: more };
}

export function keyValue(raw: RawKeyValue): KeyValue {
  return {
    key: Buffer.from(raw.key, 'base64').toString(),
    value: Buffer.from(raw.value ?? '', 'base64'),
    created: Number(raw.create_revision ?? 0),
    modified: Number(raw.mod_revision ?? 0),
  };
}
