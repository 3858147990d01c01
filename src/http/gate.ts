/**
 * Checks the Host, the Origin and the credentials of a request. No foreign page may make a browser act on a lab:
 * neither by a cross-site request, nor by a name that resolves to this server.
 */
import { BlockList, isIP } from 'node:net';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { refusals } from '../base/errors/errors.js';
import { isLoopback } from '../base/loopback.js';
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { Headers } from './answer.js';
import { ANYONE, type Caller, type Identification, type Pass } from './caller.js';
import type { Credentials } from './credentials.js';
import type { GuessBrake } from './guess-brake.js';
import { Proxies, type Scheme } from './proxies.js';
import type { Method } from './route.js';
import { Tickets } from './tickets.js';

export interface GateOptions {
  /** The address on which the server listens. */
  readonly host: string;
  /** Names of this server that it cannot know by itself. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** The URL by which clients know this server, when it is another than that at which it listens. */
  readonly publicUrl: URL | undefined;
  /** The proxies whose word about their clients counts. */
  readonly trustedProxies: BlockList;
}

/** A page that asks, as its request says. */
interface Page {
  readonly origin: string;
  readonly host: string;
  readonly scheme: Scheme;
}

/** A client that asks, and its page. */
interface Client extends Page {
  readonly address: string;
}

const HTTPS_PORT = 443;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;
/** So many answers to wrong passwords may be delayed at a time, for all addresses together. */
const MOST_WAITING = 64;

/** The response headers that pages may read. */
const EXPOSED_HEADERS = [
  'Content-Length, Content-Range, ETag, Last-Modified, Location, Repr-Digest, X-Request-Id, X-Route',
  'Tus-Checksum-Algorithm, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version',
  'Upload-Expires, Upload-Length, Upload-Metadata, Upload-Offset',
].join(', ');

export class Gate {
  readonly #isLoopback: boolean;
  /** Whether others call it by addresses: it listens there, or a proxy before it does. */
  #hasAddresses = false;
  #proxies = new Proxies(new BlockList());
  #ownNames: ReadonlySet<string> = new Set();
  #allowedOrigins: ReadonlySet<string> = new Set();
  #publicOrigin: string | undefined;
  readonly #identification: Identification;
  readonly #brake: GuessBrake;
  readonly tickets = new Tickets(() => performance.now());
  #waiting = 0;
  #wrong = 0;

  constructor(options: GateOptions, identification: Identification, brake: GuessBrake) {
    this.#identification = identification;
    this.#brake = brake;
    this.#isLoopback = isLoopback(options.host);
    this.follow(options);
  }

  get proxies(): Proxies {
    return this.#proxies;
  }

  /** Takes over other names, origins and proxies. The server listens where it did. */
  follow({ host, allowedHosts, allowedOrigins, publicUrl, trustedProxies }: GateOptions): void {
    this.#proxies = new Proxies(trustedProxies);
    const names = [host, ...allowedHosts].map(bracketed);
    if (!this.#isLoopback) names.push(hostname());
    if (publicUrl !== undefined) names.push(publicUrl.hostname);
    this.#ownNames = new Set(names.map(lowerCase));
    this.#hasAddresses = !this.#isLoopback || publicUrl !== undefined || trustedProxies.rules.length > 0;
    this.#allowedOrigins = new Set(allowedOrigins);
    this.#publicOrigin = publicUrl?.origin;
  }

  /** Refuses (403) unknown names: an attacker may have made one resolve here, to reach this server by a browser. */
  checkHost(host: string): void {
    if (!this.#isOwn(withoutPort(host))) throw refusals.hostRefused(withoutPort(host));
  }

  /** Refuses (403) foreign pages, for requests that change something and for WebSockets. */
  checkOrigin({ origin, host, scheme }: Page): void {
    if (origin === '' || this.isAllowedOrigin(origin)) return;
    if (!this.#isOwnPage({ origin, host, scheme })) throw refusals.originRefused(origin);
  }

  isAllowedOrigin(origin: string): boolean {
    return this.#allowedOrigins.has(origin);
  }

  /** The origin of this server for a client that has called it so. */
  originFor({ host, scheme }: Pick<Page, 'host' | 'scheme'>): string {
    return this.#publicOrigin ?? `${scheme}://${host}`;
  }

  /** The origin of this server over TLS, for a client that has called it by this host. */
  secureOrigin(host: string, port: number): string {
    const suffix = port === HTTPS_PORT ? '' : `:${port}`;
    return this.#publicOrigin ?? `https://${withoutPort(host)}${suffix}`;
  }

  /** The caller at a route that asks for no credentials: a browser may have a session. */
  visitor({ session }: Credentials): Caller {
    const { everybody } = this.#identification;
    return everybody ?? (session === '' ? undefined : this.#identification.ofSession(session)) ?? ANYONE;
  }

  /**
   * The caller with these credentials, at once unless a password has to be checked. Refuses (401) wrong ones, and delays
   * that when the address has sent many.
   */
  admit({ authorization, session, acts }: Credentials, client: Client): Caller | Promise<Caller> {
    const { everybody } = this.#identification;
    if (everybody !== undefined) return everybody;
    if (authorization !== '') return this.#admitHeader(authorization, client.address);
    if (session === '') throw refusals.unauthorized();
    if (acts && !this.#isOwnPage(client)) throw refusals.sessionOrigin();
    const found = this.#identification.withSession(session);
    return found instanceof Promise ? found.then(ofSession) : ofSession(found);
  }

  /** Takes over what other servers have changed; resolves with the age in milliseconds of what is known, where that is old. */
  catchUp(): Promise<number | undefined> | undefined {
    return this.#identification.catchUp();
  }

  /** Refuses (503) a change by a caller who may have lost the right to it while this server heard nothing from others. */
  checkHeard(caller: Caller): void {
    this.#identification.checkHeard(caller);
  }

  /** The word to another server of the farm about a caller who has been let in here. */
  passOf(caller: Caller): Pass {
    const { name, userId, tokenId, sessionId } = caller;
    if (caller === ANYONE) return { as: 'anyone', name };
    if (caller === this.#identification.everybody) return { as: 'everybody', name };
    return { as: userId === undefined ? 'admin' : 'user', name, userId, tokenId, sessionId };
  }

  /** The caller whom another server of the farm has let in. Refuses (503) one whom this server does not know, or not yet. */
  admitPass(pass: Pass): Caller {
    const caller = pass.as === 'anyone' ? ANYONE : this.#identification.ofPass(pass);
    if (caller === undefined) throw refusals.callerUnknownHere();
    return caller;
  }

  /** The caller with this name and password. Refuses (401) wrong ones in the same way as `admit`. */
  async signIn(name: string, password: string, address: string): Promise<Caller> {
    if (this.#identification.everybody !== undefined) throw refusals.accountNeeded();
    const encoded = Buffer.from(`${name}:${password}`).toString('base64');
    return this.#admitHeader(`Basic ${encoded}`, address);
  }

  writeMetrics(page: MetricPage): void {
    page.counter('wrong_passwords', 'Wrong passwords, tokens and names of users');
    page.sample(this.#wrong);
  }

  /** Whether cookies for this client must not be sent without TLS. */
  isSecure(scheme: Scheme): boolean {
    return scheme === 'https' || this.#publicOrigin?.startsWith('https:') === true;
  }

  /** The headers that let a page of this origin read the answer. */
  crossOriginHeaders(origin: string): Headers {
    if (!this.isAllowedOrigin(origin)) return [];
    return [
      ['Access-Control-Allow-Origin', origin],
      ['Access-Control-Allow-Credentials', 'true'],
      ['Access-Control-Expose-Headers', EXPOSED_HEADERS],
      ['Vary', 'Origin'],
    ];
  }

  /** The further headers of the answer to a preflight request. Refuses (403) origins that are not allowed. */
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

  #admitHeader(authorization: string, address: string): Caller | Promise<Caller> {
    const closedMs = this.#brake.closedMs(address);
    if (closedMs > 0) throw refusals.tooManyGuesses(Math.ceil(closedMs / 1000));
    const caller = this.#identification.identify(authorization, address);
    if (caller instanceof Promise) return caller.then((known) => known ?? this.#refuse(address));
    return caller ?? this.#refuse(address);
  }

  /** A page of this server asks the very host that it comes from. */
  #isOwnPage({ origin, host, scheme }: Page): boolean {
    if (origin === this.#publicOrigin) return true;
    return origin === `${scheme}://${host}` && this.#isOwn(withoutPort(host));
  }

  #refuse(address: string): Promise<never> {
    this.#wrong++;
    const waitMs = this.#brake.wrong(address);
    if (waitMs === 0) throw refusals.unauthorized();
    return this.#refuseLater(waitMs);
  }

  async #refuseLater(waitMs: number): Promise<never> {
    if (this.#waiting >= MOST_WAITING) throw refusals.tooManyGuesses(Math.ceil(waitMs / 1000));
    this.#waiting++;
    await sleep(waitMs);
    this.#waiting--;
    throw refusals.unauthorized();
  }

  /**
   * Addresses count as own names, because an attacker cannot redirect them; a loopback server without a proxy has those of
   * loopback only.
   */
  #isOwn(name: string): boolean {
    return LOOPBACK.test(name) || this.#ownNames.has(name) || (this.#hasAddresses && isAddress(name));
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

/** Refuses (401) a session that has ended. */
function ofSession(caller: Caller | undefined): Caller {
  if (caller === undefined) throw refusals.sessionEnded();
  return caller;
}
