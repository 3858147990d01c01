/** The headers that go on with a request or an answer. Those of a connection are of that connection only (RFC 9110, 7.6.1). */
import type { HttpRequest } from 'uWebSockets.js';
import type { Headers } from '../answer.js';
import { HOP_HEADERS } from './hop.js';

const OF_CONNECTION = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'proxy-authorization', 'expect', 'content-length'],
];
/** Beside those: credentials, which end here, and what this server has looked at in the place of the owner. */
const KEPT_BACK = new Set([
  ...OF_CONNECTION,
  ...HOP_HEADERS,
  ...['authorization', 'cookie', 'origin', 'forwarded', 'x-forwarded-for', 'x-forwarded-proto'],
  ...['access-control-request-method', 'access-control-request-headers'],
]);
/** Beside those: what this server writes itself. */
const WRITTEN_HERE = new Set([...OF_CONNECTION, 'date', 'server', 'x-request-id', 'uwebsockets']);
/** A WebSocket of its own goes on to the owner. */
const OF_WEB_SOCKET = 'sec-websocket-';

/** The headers of a request that go on, names and values in turn, and the length of its body. */
interface ForwardedHead {
  readonly headers: string[];
  /** The length of the body; undefined when the client does not tell. */
  readonly length: number | undefined;
}

/** Reads the headers of a request, which die with its first step. */
export function forwardedHead(request: HttpRequest): ForwardedHead {
  const headers: string[] = [];
  const named = new Set(listed(request.getHeader('connection')));
  request.forEach((name, value) => {
    if (!KEPT_BACK.has(name) && !named.has(name) && !name.startsWith(OF_WEB_SOCKET))
      headers.push(name, inOctets(value));
  });
  const isChunked = request.getHeader('transfer-encoding') !== '';
  const length = request.getHeader('content-length');
  return { headers, length: isChunked ? undefined : /^\d{1,15}$/.test(length) ? Number(length) : 0 };
}

/** The headers of an answer that go on to its client, and the length of its body if that is told. */
export function relayedHead(raw: readonly Uint8Array[]): { headers: Headers; length: number | undefined } {
  const headers: (readonly [string, string])[] = [];
  const named = new Set<string>();
  let length: number | undefined;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name, value] = [textOf(raw[index]), textOf(raw[index + 1])];
    const known = name.toLowerCase();
    if (known === 'content-length') length = Number(value);
    else if (known === 'connection') listed(value).forEach((other) => named.add(other));
    if (!WRITTEN_HERE.has(known)) headers.push([name, value]);
  }
  return { headers: headers.filter(([name]) => !named.has(name.toLowerCase())), length };
}

/** A path of which each octet may stand in a request; the library has made text of those that may not. */
export function forwardedPath(path: string): string {
  return path.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

function listed(header: string): string[] {
  return header === '' ? [] : header.split(',').map((name) => name.trim().toLowerCase());
}

/** The library has made text of the octets of a header; each character that is written becomes one octet. */
function inOctets(value: string): string {
  return /^[\t\x20-\x7e]*$/.test(value) ? value : Buffer.from(value).toString('latin1');
}

function textOf(octets: Uint8Array | undefined): string {
  return Buffer.from(octets ?? []).toString();
}
