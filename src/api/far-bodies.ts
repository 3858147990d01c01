/** Bodies that come from other computes or go there, each at the pace of the slower end. */
import { Readable } from 'node:stream';
import { refusals } from '../base/errors/errors.js';
import { empty, type Answer, type Headers } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import { FILE_HEADERS, UNTRUSTED_CONTENT } from '../http/file-transfer.js';
import { forwardedBody } from '../http/forwarding/forwarded-body.js';
import { RelayedBytes } from '../http/forwarding/relayed-bytes.js';
import type { TailSource } from '../http/streams/tail-flow.js';
import { DIGEST_HEADERS } from '../http/headers.js';
import type { FarAnswer, FarNode } from '../lab/far-node.js';

/** The headers of a file that reach the client. */
const RELAYED = [
  ['etag', 'ETag'],
  ['last-modified', 'Last-Modified'],
  ['accept-ranges', 'Accept-Ranges'],
  ['content-range', 'Content-Range'],
] as const;
const NOT_MODIFIED = 304;
const isDigest = (name: string): boolean => DIGEST_HEADERS.some((known) => known === name);

/** The headers of a request that decide how much of a file is sent. */
export function rangeHeaders({ headers }: Exchange): Record<string, string> {
  return Object.fromEntries(
    FILE_HEADERS.flatMap((name) => {
      const value = headers[name] ?? '';
      return value === '' ? [] : [[name, value] as const];
    }),
  );
}

/** Sends a file of another compute, or the part that it answers with. */
export function sendFarFile(exchange: Exchange, { status, headers, body }: FarAnswer, media: string): Answer {
  const told: Headers = [
    ...RELAYED.flatMap(([name, shown]) => {
      const value = headers[name];
      return value === undefined ? [] : [[shown, value] as const];
    }),
    ...UNTRUSTED_CONTENT,
  ];
  if (status === NOT_MODIFIED) {
    body.destroy();
    exchange.answerHead(status, told, undefined);
    return 'streamed';
  }
  const bytes = relayed(body);
  const length = headers['content-length'] ?? '';
  if (/^\d{1,15}$/.test(length)) exchange.streamSized(media, told, Number(length), bytes, status);
  else exchange.streamTail(media, bytes, told, status);
  return 'streamed';
}

/** Passes the body of a request on to a file of another compute. Call it in the first step. */
export async function receiveFarFile(exchange: Exchange, node: FarNode, path: string): Promise<Answer> {
  const told = Object.entries(exchange.headers).filter(([name, value]) => isDigest(name) && value !== '');
  if (told.length > 0 && node.dialect === 0)
    throw refusals.notOnOtherComputes('A file with a digest that GNS3 does not check', node.stored.name);
  const declared = exchange.headers['content-length'] ?? '';
  const length = /^\d{1,15}$/.test(declared) ? Number(declared) : undefined;
  const body = await forwardedBody(exchange, length);
  if (exchange.isGone) return 'streamed';
  const headers = {
    'content-type': 'application/octet-stream',
    ...Object.fromEntries(told),
    ...(body instanceof Readable && length !== undefined ? { 'content-length': declared } : {}),
  };
  const answer = await node.open({ method: 'POST', path, headers, body });
  answer.body.resume();
  return empty(201);
}

/**
 * A live stream of another compute, which `leave` ends. One that has not been answered yet ends what waits for it with its
 * refusal.
 */
export function farTail(answer: Promise<FarAnswer>, leave: AbortController): TailSource {
  let body: Readable | undefined;
  const bytes = new RelayedBytes({
    goOn: () => body?.resume(),
    abort: () => {
      leave.abort();
    },
  });
  answer.then(
    (begun) => {
      body = begun.body;
      pour(body, bytes);
    },
    (error: unknown) => {
      bytes.fail(error instanceof Error ? error : new Error(String(error)));
    },
  );
  return bytes;
}

function relayed(body: Readable): RelayedBytes {
  const bytes = new RelayedBytes({ goOn: () => body.resume(), abort: () => body.destroy() });
  pour(body, bytes);
  return bytes;
}

function pour(body: Readable, bytes: RelayedBytes): void {
  body.on('data', (piece: Buffer) => {
    if (!bytes.push(piece)) body.pause();
  });
  body.on('end', () => {
    bytes.complete();
  });
  body.on('error', (error) => {
    bytes.fail(error);
  });
  body.on('close', () => {
    bytes.fail(new Error('the compute has gone'));
  });
}
