/**
 * Who may speak to this server: the Host, Origin and credentials of a request. A browser must not be made to
 * act on a lab by a page from elsewhere, neither by a cross-site request nor by a name that resolves here.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { refusals } from '../base/errors/errors.js';
import { isLoopback } from '../base/loopback.js';
import type { Headers } from './answer.js';
import type { GuessBrake } from './guess-brake.js';
import type { Method } from './route.js';

export interface GateOptions {
  /** The address that is listened on. */
  readonly host: string;
  /** Names of this server that it cannot know by itself. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly credentials: { readonly user: string; readonly password: string } | undefined;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;
/** Wrong passwords of all addresses together that wait for their answer. */
const MOST_WAITING = 64;

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
  readonly #brake: GuessBrake;
  #waiting = 0;

  constructor({ host, allowedHosts, allowedOrigins, credentials }: GateOptions, brake: GuessBrake) {
    this.#brake = brake;
    this.#isLoopback = isLoopback(host);
    const ownHost = this.#isLoopback ? [] : [hostname()];
    this.#ownNames = new Set([...[host, ...allowedHosts].map(bracketed), ...ownHost].map(lowerCase));
    this.#allowedOrigins = new Set(allowedOrigins);
    this.#authorization =
      credentials === undefined
        ? undefined
        : digest(`Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}`);
  }

  get needsCredentials(): boolean {
    return this.#authorization !== undefined;
  }

  /** Another name may have been made to resolve here, by whoever wants to speak to us from somebody's browser. */
  checkHost(host: string): void {
    if (!this.#isOwn(withoutPort(host))) throw refusals.hostRefused(withoutPort(host));
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

  /** A wrong password is answered late when many from that address were wrong. */
  checkCredentials(authorization: string, address: string): Promise<never> | undefined {
    if (this.#authorization === undefined) return undefined;
    if (authorization === '') throw refusals.unauthorized();
    const closedMs = this.#brake.closedMs(address);
    if (closedMs > 0) throw refusals.tooManyGuesses(Math.ceil(closedMs / 1000));
    if (timingSafeEqual(digest(authorization), this.#authorization)) return undefined;
    const waitMs = this.#brake.wrong(address);
    if (waitMs === 0) throw refusals.unauthorized();
    return this.#refuseLater(waitMs);
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

  /** The headers that only the answer to a preflight request has. Refuses other origins. */
  preflightHeaders(origin: string, methods: Iterable<Method>, requestHeaders: string): Headers {
    if (!this.isAllowedOrigin(origin)) throw refusals.originRefused(origin);
    return [
      ['Access-Control-Allow-Methods', [...methods].join(', ')],
      [
        'Access-Control-Allow-Headers',
        requestHeaders === '' ? 'Content-Type, Authorization' : requestHeaders,
      ],
      ['Access-Control-Max-Age', '0'],
    ];
  }

  async #refuseLater(waitMs: number): Promise<never> {
    if (this.#waiting >= MOST_WAITING) throw refusals.tooManyGuesses(Math.ceil(waitMs / 1000));
    this.#waiting++;
    await sleep(waitMs);
    this.#waiting--;
    throw refusals.unauthorized();
  }

  /** Our own pages: the origin is the very host asked, and that is this server. */
  #isOwnOrigin(origin: string, host: string): boolean {
    return origin === `http://${host}` && this.#isOwn(withoutPort(host));
  }

  /** An address cannot be made to lead elsewhere, as a name can; but none but loopback leads to loopback. */
  #isOwn(name: string): boolean {
    return LOOPBACK.test(name) || this.#ownNames.has(name) || (!this.#isLoopback && isAddress(name));
  }
}

function isAddress(name: string): boolean {
  return name.startsWith('[') ? isIP(name.slice(1, -1)) === 6 : isIP(name) === 4;
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function lowerCase(name: string): string {
  return name.toLowerCase();
}

function withoutPort(host: string): string {
  return lowerCase(host.replace(/:\d+$/, ''));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
