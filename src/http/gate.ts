/**
 * Who may speak to this server: the Host, Origin and credentials of a request. A browser must not be made to
 * act on a lab by a page from elsewhere, neither by a cross-site request nor by a name that resolves here.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import { refusals } from '../errors.js';
import type { Headers } from './answer.js';
import type { Method } from './route.js';

export interface GateOptions {
  readonly host: string;
  readonly allowedOrigins: readonly string[];
  readonly credentials: { readonly user: string; readonly password: string } | undefined;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;
const EVERYWHERE = new Set(['0.0.0.0', '::']);

/** What pages may read of an answer. */
const EXPOSED_HEADERS = [
  'Content-Length, Content-Range, ETag, Last-Modified, Location, Repr-Digest, X-Request-Id, X-Route',
  'Tus-Checksum-Algorithm, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version',
  'Upload-Expires, Upload-Length, Upload-Metadata, Upload-Offset',
].join(', ');

export class Gate {
  readonly #isLoopback: boolean;
  readonly #ownNames: ReadonlySet<string>;
  readonly #allowedOrigins: ReadonlySet<string>;
  readonly #authorization: Buffer | undefined;

  constructor({ host, allowedOrigins, credentials }: GateOptions) {
    this.#isLoopback = LOOPBACK.test(bracketed(host));
    this.#ownNames = ownNames(host);
    this.#allowedOrigins = new Set(allowedOrigins);
    this.#authorization =
      credentials === undefined
        ? undefined
        : digest(`Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}`);
  }

  get needsCredentials(): boolean {
    return this.#authorization !== undefined;
  }

  get isLoopback(): boolean {
    return this.#isLoopback;
  }

  /** A server on loopback answers to loopback names only: another name was made to resolve here. */
  checkHost(host: string): void {
    if (this.#isLoopback && !LOOPBACK.test(withoutPort(host))) throw refusals.hostRefused(host);
  }

  /** Requests that change something, and WebSockets, come from no page but an allowed one or our own. */
  checkOrigin(origin: string, host: string): void {
    if (origin !== '' && !this.isAllowedOrigin(origin) && !this.#isOwnOrigin(origin, host)) {
      throw refusals.originRefused(origin);
    }
  }

  isAllowedOrigin(origin: string): boolean {
    return this.#allowedOrigins.has(origin);
  }

  checkCredentials(authorization: string): void {
    if (this.#authorization === undefined) return;
    if (!timingSafeEqual(digest(authorization), this.#authorization)) throw refusals.unauthorized();
  }

  /** What lets a page of this origin read the answer. */
  crossOriginHeaders(origin: string): Headers {
    if (!this.isAllowedOrigin(origin)) return [];
    return [
      ['Access-Control-Allow-Origin', origin],
      ['Access-Control-Allow-Credentials', 'true'],
      ['Access-Control-Expose-Headers', EXPOSED_HEADERS],
      ['Vary', 'Origin'],
    ];
  }

  /** The answer to a preflight request, or a refusal. */
  preflightHeaders(origin: string, methods: Iterable<Method>, requestHeaders: string): Headers {
    if (!this.isAllowedOrigin(origin)) throw refusals.originRefused(origin);
    return [
      ...this.crossOriginHeaders(origin),
      ['Access-Control-Allow-Methods', [...methods].join(', ')],
      [
        'Access-Control-Allow-Headers',
        requestHeaders === '' ? 'Content-Type, Authorization' : requestHeaders,
      ],
      ['Access-Control-Max-Age', '0'],
    ];
  }

  /** Our own pages: the origin is the very host asked, and that host is one of this machine's names. */
  #isOwnOrigin(origin: string, host: string): boolean {
    return (
      origin === `http://${host}` &&
      (this.#ownNames.has(withoutPort(host)) || LOOPBACK.test(withoutPort(host)))
    );
  }
}

function ownNames(host: string): ReadonlySet<string> {
  const names = new Set([bracketed(host), hostname().toLowerCase()]);
  if (EVERYWHERE.has(host)) {
    for (const address of Object.values(networkInterfaces()).flat()) {
      if (address !== undefined) names.add(bracketed(address.address));
    }
  }
  return names;
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, '').toLowerCase();
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
