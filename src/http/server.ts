/** The HTTP server: takes requests from uWebSockets.js, has them handled, and answers errors. */
import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { refusals } from '../base/errors/errors.js';
import { Members } from '../base/members.js';
import type { MetricPage } from '../base/metrics/metric-page.js';
import { AccessLog, type RequestLines } from './access-log.js';
import { Admission, type DescriptorTable } from './admission.js';
import { empty, jsonText, type Answer, type Headers } from './answer.js';
import type { ChangeNotes } from './change-notes.js';
import { Dispatcher } from './dispatcher.js';
import { Entrance, type Certificate } from './entrance.js';
import { errorAnswer, errorHeaders } from './error-body.js';
import { Exchange } from './exchange.js';
import type { Forwarder } from './forwarding/forwarder.js';
import type { Gate } from './gate.js';
import type { Requester, Scheme } from './proxies.js';
import { RequestMetrics } from './request-metrics.js';
import type { RouteTable } from './route.js';
import { statusLine } from './headers.js';
import { RateLimits, type Rates } from './rate-limits.js';
import { isServed, type RouteAccess } from './route-access.js';
import { WebSockets } from './web-sockets.js';

/** So often streams are looked at whose callers may have lost their rights. */
const LOOK_MS = 1000;

interface HttpServerOptions {
  readonly gate: Gate;
  readonly table: RouteTable;
  readonly maxJsonBody: () => number;
  /** The value of the `Server` header. */
  readonly name: string;
  readonly log: Logger;
  /** The log that has the lines of requests, if any has. */
  readonly requestLog?: RequestLines;
  /** The share of the requests that only read that is logged, as one of so many; 0 logs none. */
  readonly accessLogSample: () => number;
  readonly descriptors: DescriptorTable;
  /** Called when a request has been answered, or its client has gone. */
  readonly ended: (exchange: Exchange) => void;
  /** Called each second for each endless answer and WebSocket that goes on. */
  readonly streams?: (access: RouteAccess, params: Readonly<Record<string, string>>) => void;
  /** The requests that a caller may send in a second; undefined when that is not limited. */
  readonly rates: () => Rates | undefined;
  /** The audit of requests. */
  readonly notes?: ChangeNotes | undefined;
  /** The sender of requests to other servers of a farm; undefined for a server on its own. */
  readonly forwarder?: Forwarder | undefined;
  /** The server speaks TLS with this certificate, or plain HTTP. */
  readonly certificate?: Certificate | undefined;
}

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #dispatcher: Dispatcher;
  readonly #sockets: WebSockets;
  readonly #accessLog: AccessLog | undefined;
  readonly #admission: Admission;
  /** All that listen or have connections. */
  readonly #entrances = new Set<Entrance>();
  readonly #active = new Members<Exchange>();
  readonly #metrics = new RequestMetrics();
  readonly #serverHeader: Headers;
  #entrance: Entrance;
  #place: { readonly host: string; readonly port: number } | undefined;
  #isStopping = false;
  #watch: NodeJS.Timeout | undefined;
  /** Ids of requests begin with it, so that those of two starts differ. */
  readonly #start = newStartMark();
  #nextId = 0;

  constructor(options: HttpServerOptions) {
    const { rates, requestLog } = options;
    const now = (): number => performance.now();
    this.#options = options;
    this.#serverHeader = [['Server', options.name]];
    this.#dispatcher = new Dispatcher({ ...options, limits: new RateLimits({ rates, now }) });
    this.#accessLog = requestLog && new AccessLog(requestLog, options.accessLogSample);
    this.#admission = new Admission(options.descriptors, options.log);
    this.#sockets = new WebSockets({
      dispatcher: this.#dispatcher,
      begin: (response, request) => this.#begin(response, request),
      fail: (exchange, error) => {
        this.#fail(exchange, error);
      },
    });
    this.#entrance = this.#ownEntrance(options.certificate);
    this.#entrances.add(this.#entrance);
  }

  get scheme(): Scheme {
    return this.#options.certificate === undefined ? 'http' : 'https';
  }

  /** Resolves with the port; rejects when the server cannot listen on it. */
  async listen(host: string, port: number): Promise<number> {
    const taken = await this.#entrance.listen(host, port);
    this.#place = { host, port: taken };
    this.#watch = setInterval(() => {
      this.#cutForbidden();
    }, LOOK_MS).unref();
    return taken;
  }

  /** Sends clients that speak plain HTTP, at a port of their own, to the port of TLS. */
  async redirect(host: string, port: number, securePort: number): Promise<void> {
    const entrance = new Entrance(undefined);
    this.#admitAt(entrance);
    entrance.app.any('/*', (response, request) => {
      this.#redirect(this.#begin(response, request), securePort);
    });
    await entrance.listen(host, port);
    this.#entrances.add(entrance);
  }

  /**
   * New connections get another certificate; those that are open go on with the former one. Throws, and changes nothing,
   * when the files are no pair. Only for a server that speaks TLS and listens.
   */
  async replaceCertificate(certificate: Certificate): Promise<void> {
    if (this.#place === undefined || this.#isStopping) return;
    const former = this.#entrance;
    const entrance = this.#ownEntrance(certificate);
    await entrance.listenBeside(this.#place.host, this.#place.port);
    this.#entrances.add(entrance);
    this.#entrance = entrance;
    await former.retire(() => this.#entrances.delete(former));
  }

  *writeMetrics(page: MetricPage): Iterable<void> {
    yield* this.#metrics.writeMetrics(page);
    this.#options.gate.writeMetrics(page);
    page.gauge('http_in_flight', 'Requests that are being answered');
    page.sample(this.#active.size);
    page.gauge('http_connections', 'Open connections, WebSockets among them');
    page.sample(this.#admission.connections);
    page.gauge('websockets', 'Open WebSockets');
    page.sample(this.#sockets.size);
  }

  /** Accepts no more connections, and ends long streams. Other requests have `graceMs` to finish. */
  async close(graceMs: number): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#watch);
    for (const entrance of this.#entrances) entrance.stopListening();
    this.#sockets.close();
    for (const exchange of this.#active.all()) exchange.endStream();
    await Promise.race([this.#drained(), timeout(graceMs)]);
    for (const entrance of this.#entrances) entrance.app.close();
    await this.#options.forwarder?.close();
  }

  #ownEntrance(certificate: Certificate | undefined): Entrance {
    const entrance = new Entrance(certificate);
    const closed = this.#admitAt(entrance);
    // The filter is not called when a WebSocket connection closes.
    entrance.app.ws('/*', this.#sockets.behavior(closed));
    entrance.app.any('/*', (response, request) => {
      this.#handle(this.#begin(response, request), request);
    });
    return entrance;
  }

  /** Counts the connections of the entrance. Returns the callback for one that closes. */
  #admitAt(entrance: Entrance): () => void {
    const closed = (): void => {
      entrance.closed();
      this.#admission.closed();
    };
    entrance.app.filter((response, change) => {
      if (change > 0) {
        entrance.opened();
        this.#admit(response);
      } else closed();
    });
    return closed;
  }

  #redirect(exchange: Exchange, port: number): void {
    try {
      const { gate } = this.#options;
      gate.checkHost(exchange.host);
      const query = exchange.query === '' ? '' : `?${exchange.query}`;
      const location = `${gate.secureOrigin(exchange.host, port)}${exchange.path}${query}`;
      exchange.answer(empty(308, [['Location', location]]));
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  /** Ends endless answers whose callers may not have them any more. */
  #cutForbidden(): void {
    const { streams } = this.#options;
    for (const exchange of this.#active.all()) {
      const { caller, rule, isEndless } = exchange;
      if (!isEndless || rule === undefined) continue;
      if (isServed(caller, rule.access, rule.params)) streams?.(rule.access, rule.params);
      else exchange.cut();
    }
    this.#options.forwarder?.look();
    this.#sockets.cutForbidden((access, params) => streams?.(access, params));
  }

  async #drained(): Promise<void> {
    for (const exchange of this.#active.all()) {
      await new Promise<void>((resolve) => {
        exchange.atEnd(() => {
          resolve();
        });
      });
    }
  }

  /** Answers a connection beyond the limit before it has asked, and closes it. */
  #admit(response: HttpResponse): void {
    const isProxy = this.#options.gate.proxies.isTrusted(addressOf(response));
    const refusal = this.#admission.opened(new Uint8Array(response.getRemoteAddress()), isProxy);
    if (refusal === undefined) return;
    const { status, code, message } = refusal;
    response.writeStatus(statusLine(status)).writeHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ code, message, status }), true);
  }

  #begin(response: HttpResponse, request: HttpRequest): Exchange {
    const id = `${this.#start}-${(this.#nextId++).toString(36)}`;
    const client = this.#clientOf(response, request);
    const commonHeaders = (origin: string): Headers => this.#commonHeaders(origin);
    const hop = this.#options.forwarder?.hopOf(request);
    const exchange = new Exchange({ id, client, hop, commonHeaders }, request, response);
    this.#active.add(exchange);
    exchange.atEnd(() => {
      this.#active.remove(exchange);
      this.#metrics.ended(exchange);
      this.#accessLog?.ended(exchange);
      this.#options.notes?.ended(exchange);
      this.#options.ended(exchange);
    });
    return exchange;
  }

  #clientOf(response: HttpResponse, request: HttpRequest): Requester {
    const connection = { address: addressOf(response), scheme: this.scheme };
    return this.#options.gate.proxies.clientOf(connection, (callback) => {
      request.forEach(callback);
    });
  }

  #handle(exchange: Exchange, request: HttpRequest): void {
    try {
      if (this.#isStopping) throw refusals.stopping();
      const answer = this.#dispatcher.dispatch(exchange, request);
      if (answer instanceof Promise) this.#finishLater(exchange, answer);
      else this.#finish(exchange, answer);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  #finishLater(exchange: Exchange, answer: Promise<Answer>): void {
    answer.then(
      (known) => {
        this.#finish(exchange, known);
      },
      (error: unknown) => {
        this.#fail(exchange, error);
      },
    );
  }

  #finish(exchange: Exchange, answer: Answer): void {
    if (answer !== 'streamed') exchange.answer(answer);
  }

  #fail(exchange: Exchange, error: unknown): void {
    if (exchange.isGone) return;
    const { status, json, isFault } = errorAnswer(error, exchange);
    if (isFault)
      this.#options.log.error({ err: error, req: exchange.id, path: exchange.path }, 'a request failed');
    exchange.answer(jsonText(status, json, errorHeaders(error, exchange)));
  }

  /** The library adds the date and the length. */
  #commonHeaders(origin: string): Headers {
    if (origin === '') return this.#serverHeader;
    return [...this.#serverHeader, ...this.#options.gate.crossOriginHeaders(origin)];
  }
}

const MARK_LENGTH = 4;
const MARK_BASE = 36;

function newStartMark(): string {
  return randomInt(MARK_BASE ** MARK_LENGTH)
    .toString(MARK_BASE)
    .padStart(MARK_LENGTH, '0');
}

/** The address of the other end of the connection. */
function addressOf(response: HttpResponse): string {
  return Buffer.from(response.getRemoteAddressAsText()).toString();
}

function timeout(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}
