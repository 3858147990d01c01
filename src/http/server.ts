/** The HTTP server: takes requests from uWebSockets.js, has them handled, and answers errors. */
import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import {
  App,
  us_listen_socket_close,
  us_socket_local_port,
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
} from 'uWebSockets.js';
import { isRefusal, Refusal, refusals } from '../base/errors/errors.js';
import type { MetricPage } from '../base/metrics/metric-page.js';
import { AccessLog } from './access-log.js';
import { Admission, type DescriptorTable } from './admission.js';
import { jsonText, type Answer, type Headers } from './answer.js';
import { Dispatcher } from './dispatcher.js';
import { errorAnswer } from './error-body.js';
import { Exchange } from './exchange.js';
import type { Gate } from './gate.js';
import type { Requester } from './proxies.js';
import { RequestMetrics } from './request-metrics.js';
import type { RouteTable } from './route.js';
import { statusLine } from './headers.js';
import { WebSockets } from './web-sockets.js';

interface HttpServerOptions {
  readonly gate: Gate;
  readonly table: RouteTable;
  readonly maxJsonBody: number;
  /** The value of the `Server` header. */
  readonly name: string;
  readonly log: Logger;
  /** The share of the requests that only read that is logged, as one of so many; 0 logs none. */
  readonly accessLogSample: number;
  readonly descriptors: DescriptorTable;
}

/** The port is for this server alone. By default the library lets several servers share it. */
const EXCLUSIVE_PORT = 1;

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #dispatcher: Dispatcher;
  readonly #sockets: WebSockets;
  readonly #accessLog: AccessLog;
  readonly #admission: Admission;
  readonly #app: TemplatedApp = App();
  readonly #active = new Set<Exchange>();
  readonly #metrics = new RequestMetrics();
  readonly #serverHeader: Headers;
  #listenSocket: us_listen_socket | undefined;
  #isStopping = false;
  /** Ids of requests begin with it, so that those of two starts differ. */
  readonly #start = newStartMark();
  #nextId = 0;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#serverHeader = [['Server', options.name]];
    this.#dispatcher = new Dispatcher(options.table, options.gate, options.maxJsonBody);
    this.#accessLog = new AccessLog(options.log, options.accessLogSample);
    this.#admission = new Admission(options.descriptors, options.log);
    this.#sockets = new WebSockets({
      dispatcher: this.#dispatcher,
      begin: (response, request) => this.#begin(response, request),
      fail: (exchange, error) => {
        this.#fail(exchange, error);
      },
      // The filter is not called when a WebSocket connection closes.
      onClose: () => {
        this.#admission.closed();
      },
    });
    this.#app.filter((response, change) => {
      if (change > 0) this.#admit(response);
      else this.#admission.closed();
    });
    this.#app.ws('/*', this.#sockets.behavior);
    this.#app.any('/*', (response, request) => {
      this.#handle(this.#begin(response, request), request);
    });
  }

  /** Resolves with the port; rejects when the server cannot listen on it. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const listening = (socket: us_listen_socket | false): void => {
        if (socket === false) {
          reject(
            new Error(
              `cannot listen on ${host} port ${port}: the port is in use, or the address is not ours`,
            ),
          );
          return;
        }
        this.#listenSocket = socket;
        resolve(us_socket_local_port(socket));
      };
      // The library also takes options together with a host, which its types do not say.
      const app: { listen(...args: unknown[]): unknown } = this.#app;
      app.listen(host, port, EXCLUSIVE_PORT, listening);
    });
  }

  *writeMetrics(page: MetricPage): Iterable<void> {
    yield* this.#metrics.writeMetrics(page);
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
    if (this.#listenSocket !== undefined) us_listen_socket_close(this.#listenSocket);
    this.#sockets.close();
    for (const exchange of [...this.#active]) exchange.endStream();
    await Promise.race([this.#drained(), timeout(graceMs)]);
    this.#app.close();
  }

  async #drained(): Promise<void> {
    for (const exchange of [...this.#active]) {
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
    const exchange = new Exchange({ id, client, commonHeaders }, request, response);
    this.#active.add(exchange);
    exchange.atEnd(() => {
      this.#active.delete(exchange);
      this.#metrics.ended(exchange);
      this.#accessLog.ended(exchange);
    });
    return exchange;
  }

  #clientOf(response: HttpResponse, request: HttpRequest): Requester {
    const connection = { address: addressOf(response), scheme: 'http' } as const;
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
    exchange.answer(jsonText(status, json, headersOf(error)));
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

function headersOf(error: unknown): Headers {
  if (!(error instanceof Refusal)) return [];
  if (isRefusal(error, 'unauthorized')) return [['WWW-Authenticate', 'Basic realm="GNS3 server"']];
  const { retryAfterSeconds } = error;
  return retryAfterSeconds === undefined ? [] : [['Retry-After', String(retryAfterSeconds)]];
}

function timeout(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}
