/** Requests of this server itself to others of its farm. They are signed as forwarded ones are, so no client can make them. */
import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import type { Hops } from './hop.js';
import type { OwningServer, OwnServer } from './scope-owners.js';

interface ServerCall {
  readonly method: 'GET' | 'POST';
  /** The path with its query. */
  readonly target: string;
  /** A part of the answer: the first byte, and the one after the last. */
  readonly range?: { readonly start: number; readonly end: number };
  readonly body?: object;
  /** The longest answer that is taken. */
  readonly largest: number;
  readonly signal: AbortSignal;
}

interface ServerReply {
  readonly status: number;
  readonly bytes: Uint8Array;
}

const CONNECT_MS = 2000;
/** A server that sends nothing for so long in the middle of an answer has gone. */
const SILENT_MS = 10_000;
const KEPT_MS = 4000;
const MOST_CONNECTIONS = 8;

export class ServerCalls {
  readonly #hops: Hops;
  readonly #own: () => OwnServer;
  readonly #pools = new Map<string, Pool>();

  constructor({ hops, own }: { readonly hops: Hops; readonly own: () => OwnServer }) {
    this.#hops = hops;
    this.#own = own;
  }

  /** Rejects when there is no whole answer. The head of the answer may take as long as the signal lets it. */
  async call(
    to: OwningServer,
    { method, target, range, body, largest, signal }: ServerCall,
  ): Promise<ServerReply> {
    const pass = { as: 'server', name: `server ${this.#own().id}` } as const;
    const told = { id: randomUUID(), address: '', scheme: 'http', pass } as const;
    const headers = this.#hops.headers(told, { to, method, target });
    if (range !== undefined) headers.push('range', `bytes=${range.start}-${range.end - 1}`);
    if (body !== undefined) headers.push('content-type', 'application/json');
    const answer = await this.#poolOf(to.address).request({
      ...{ method, path: target, headers, signal },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of answer.body as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > largest) throw new Error('the answer is longer than what was asked for');
      pieces.push(piece);
    }
    return { status: answer.statusCode, bytes: Buffer.concat(pieces) };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #poolOf(url: string): Pool {
    const known = this.#pools.get(url);
    if (known !== undefined) return known;
    const pool = new Pool(url, {
      ...{ connections: MOST_CONNECTIONS, pipelining: 1 },
      ...{ headersTimeout: 0, bodyTimeout: SILENT_MS, keepAliveTimeout: KEPT_MS },
      connect: { timeout: CONNECT_MS },
    });
    this.#pools.set(url, pool);
    return pool;
  }
}
