/**
 * One request and its response. The parts of the request that are needed later are copied at once, because the request
 * object of the library dies with the handler. The response is answered once or not at all, and never touched after its
 * client has gone.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Member } from '../base/members.js';
import type { Headers, WholeAnswer } from './answer.js';
import { ANYONE, type Caller } from './caller.js';
import { ChunkedResponse } from './streams/chunked-response.js';
import { IncomingBody, type BodyReceiver } from './streams/incoming-body.js';
import { bytesSource, SizedResponse, type PieceSource } from './streams/sized-response.js';
import { TailResponse } from './streams/tail-response.js';
import type { TailSource } from './streams/tail-flow.js';
import { statusLine } from './headers.js';
import type { Hop, HopFault } from './forwarding/hop.js';
import type { Requester, Scheme } from './proxies.js';
import type { RouteAccess } from './route-access.js';

/** Longer answers are streamed at the client's pace, because the library would cut off a slow client. */
const TRACE_PARENT = /^(?!ff)[\da-f]{2}-((?!0{32})[\da-f]{32})-[\da-f]{16}-[\da-f]{2}(?:-|$)/;
const LARGEST_AT_ONCE = 64 * 1024;
const TICKET = /(?:^|&)ticket=([^&]*)/;

interface ExchangeOptions {
  readonly id: string;
  readonly client: Requester;
  /** The word of another server of the farm about the request that it has forwarded. */
  readonly hop?: Hop | HopFault | undefined;
  /** The headers that the server adds to every response. */
  readonly commonHeaders: (origin: string) => Headers;
}

export class Exchange implements Member {
  /** Among the requests that are being answered. */
  place = -1;
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** The query without a ticket, so that none comes into a log or an answer. */
  readonly query: string;
  /** The secret of a ticket, if the query has one. */
  readonly ticket: string | undefined;
  readonly host: string;
  readonly origin: string;
  /** The id of the trace that the request is part of, if its client says so. */
  readonly trace: string | undefined;
  /** The address of the client. */
  readonly address: string;
  readonly scheme: Scheme;
  /** Whether the page that asks is the console. */
  readonly isFromConsole: boolean;
  /** The word of another server of the farm about the request that it has forwarded. */
  readonly hop: Hop | HopFault | undefined;
  readonly startedAt = performance.now();
  /** The server of the farm that the request has been forwarded to. */
  owner: string | undefined;
  /** So old may the answer be, because another server of the farm might have what was asked for; undefined when it is not. */
  staleMs: number | undefined;
  /** The job that the request has begun. */
  jobId: string | undefined;
  /** The template of the route, once it has been found. */
  template: string | undefined;
  /** The caller, once that one is known. */
  caller: Caller = ANYONE;
  /** The id of the ticket that stood for credentials. */
  ticketId: string | undefined;
  /** The rule of the route and the parameters of the path, once the caller may have what is asked for. */
  rule: { readonly access: RouteAccess; readonly params: Readonly<Record<string, string>> } | undefined;
  /** The tag of the route, once it has been found. */
  group: string | undefined;
  /** The summary of the route, once it has been found. */
  summary: string | undefined;
  /** The JSON body, once it has been read. */
  body: unknown;
  /** The digest of the JSON body without secrets, when the request is to be noted. */
  bodyDigest: string | undefined;
  /** Ends the note of the change that is asked for, if it has one. */
  endNote: (() => void) | undefined;
  /** The ids of what was made, once it is. */
  made: Readonly<Record<string, string>> = {};
  headers: Readonly<Record<string, string>> = {};
  #status = 0;
  #answeredAt: number | undefined;
  #incoming: IncomingBody | undefined;
  #sentAtOnce = 0;
  /** The body of the answer, if it is streamed. */
  #stream: { readonly sent: number } | undefined;
  #chunks: ChunkedResponse | undefined;
  #sized: SizedResponse | undefined;
  #tail: TailResponse | undefined;
  readonly #response: HttpResponse;
  readonly #commonHeaders: ExchangeOptions['commonHeaders'];
  #state: 'waiting' | 'answered' | 'gone' = 'waiting';
  #atEnd: ((exchange: Exchange) => void)[] = [];

  constructor(options: ExchangeOptions, request: HttpRequest, response: HttpResponse) {
    const { id, client, hop, commonHeaders } = options;
    const { address, scheme } = typeof hop === 'object' ? hop : client;
    this.hop = hop;
    this.id = typeof hop === 'object' ? hop.id : id;
    this.ticketId = typeof hop === 'object' ? hop.ticketId : undefined;
    this.address = address;
    this.scheme = scheme;
    this.method = request.getMethod().toUpperCase();
    this.path = request.getUrl();
    // Without a query the library returns undefined, which its types do not say.
    const query = request.getQuery() || '';
    this.ticket = TICKET.exec(query)?.[1];
    this.query = this.ticket === undefined ? query : withoutTickets(query);
    this.host = request.getHeader('host');
    this.origin = request.getHeader('origin');
    this.trace = TRACE_PARENT.exec(request.getHeader('traceparent'))?.[1];
    this.isFromConsole = request.getHeader('x-wirefarm-client') === 'console';
    this.#response = response;
    this.#commonHeaders = commonHeaders;
    response.onAborted(() => {
      this.#end('gone');
    });
  }

  get status(): number {
    return this.#status;
  }

  /** When the head of the answer was written, by the monotonic clock. */
  get answeredAt(): number | undefined {
    return this.#answeredAt;
  }

  /** The octets of the body that have come. */
  get received(): number {
    return this.#incoming?.received ?? 0;
  }

  /** The octets of the body of the answer. */
  get sent(): number {
    return this.#stream?.sent ?? this.#sentAtOnce;
  }

  get isGone(): boolean {
    return this.#state === 'gone';
  }

  /** Whether the body is being received, or has been. */
  get isReceiving(): boolean {
    return this.#incoming?.isHeld === false;
  }

  /** Called once when the response is complete or the client has gone. */
  atEnd(callback: (exchange: Exchange) => void): void {
    if (this.#state === 'waiting') this.#atEnd.push(callback);
    else callback(this);
  }

  /** Starts to receive the body; a handler must call this before it awaits anything, unless the body is held. */
  receive(receiver: BodyReceiver): IncomingBody {
    const incoming = this.#incoming ?? this.#hold();
    incoming.give(receiver);
    return incoming;
  }

  /** Holds the body back until it is received: something is awaited before. */
  hold(): void {
    this.#hold();
  }

  /** Drops the rest of the body, for a while. */
  drainBody(longestMs: number): Promise<void> {
    return this.#incoming?.drain(longestMs) ?? Promise.resolve();
  }

  answer(answer: WholeAnswer): void {
    if (this.#state !== 'waiting') return;
    if ('json' in answer && answer.json.length > LARGEST_AT_ONCE) {
      const bytes = typeof answer.json === 'string' ? Buffer.from(answer.json) : answer.json;
      this.streamSized(
        'application/json',
        answer.headers ?? [],
        bytes.length,
        bytesSource(bytes),
        answer.status,
      );
      return;
    }
    // The rest of an unfinished body is never read, so no other request can follow on this connection.
    const closeConnection = this.#incoming?.isComplete === false;
    this.#response.cork(() => {
      const isJson = 'json' in answer;
      this.#writeHead(answer.status, answer.headers ?? [], isJson ? 'application/json' : undefined);
      if (isJson && this.method === 'HEAD') this.#endWithoutBody(Buffer.byteLength(answer.json));
      else if (isJson) {
        this.#sentAtOnce = Buffer.byteLength(answer.json);
        this.#response.end(answer.json, closeConnection);
      } else this.#endWithoutBody(answer.status === 204 || answer.status === 304 ? undefined : 0);
    });
    this.#end('answered');
  }

  /** Answers with bytes that are here as a whole. */
  answerBytes(status: number, headers: Headers, bytes: Uint8Array): void {
    if (this.#state !== 'waiting') return;
    this.#sentAtOnce = bytes.length;
    this.#response.cork(() => {
      this.#writeHead(status, headers, undefined);
      this.#response.end(bytes, this.#incoming?.isComplete === false);
    });
    this.#end('answered');
  }

  /** Answers without a body; the head tells the length that one would have, if that is known. */
  answerHead(status: number, headers: Headers, length: number | undefined): void {
    if (this.#state === 'waiting') this.#endWithHead(undefined, headers, length, status);
  }

  /** Answers with a stream that the handler ends. Undefined when the client asked for the head only. */
  streamChunks(media: string, limit: number): ChunkedResponse | undefined {
    if (this.#state !== 'waiting') return undefined;
    if (this.method === 'HEAD') {
      this.#endWithHead(media, [], undefined);
      return undefined;
    }
    this.#response.cork(() => {
      this.#writeHead(200, [], media);
    });
    const stream = new ChunkedResponse(this.#response, limit, () => {
      this.#end('answered');
    });
    this.atEnd(() => {
      stream.gone();
    });
    this.#chunks = stream;
    this.#stream = stream;
    return stream;
  }

  /** Answers with `total` bytes of the source, which is closed in any case. */
  streamSized(
    media: string | undefined,
    headers: Headers,
    total: number,
    source: PieceSource,
    status = 200,
  ): void {
    if (this.#state !== 'waiting' || this.method === 'HEAD' || total === 0) {
      source.close();
      if (this.#state === 'waiting') this.#endWithHead(media, headers, total, status);
      return;
    }
    this.#response.cork(() => {
      this.#writeHead(status, headers, media);
    });
    const stream = new SizedResponse(this.#response, total, {
      give: (position, length, use) => source.give(position, length, use),
      close: () => {
        source.close();
        this.#end('answered');
      },
    });
    this.#stream = stream;
    this.atEnd(() => {
      stream.gone();
    });
    this.#sized = stream;
  }

  /** Answers with all bytes of the source, until it is over. The source is closed in any case. */
  streamTail(media: string | undefined, source: TailSource, headers: Headers = [], status = 200): 'streamed' {
    if (this.#state !== 'waiting' || this.method === 'HEAD') {
      source.close();
      if (this.#state === 'waiting') this.#endWithHead(media, headers, undefined, status);
      return 'streamed';
    }
    this.#response.cork(() => {
      this.#writeHead(status, headers, media);
    });
    const stream = new TailResponse(this.#response, source, () => {
      this.#end('answered');
    });
    this.atEnd(() => {
      stream.gone();
    });
    this.#tail = stream;
    this.#stream = stream;
    return 'streamed';
  }

  /** Ends a stream that has no end of its own. */
  endStream(): void {
    this.#chunks?.end();
    this.#tail?.finish();
  }

  /** Whether the answer goes on until somebody ends it. */
  get isEndless(): boolean {
    return this.#chunks !== undefined || this.#tail !== undefined;
  }

  /** Ends what has no end of its own: the caller may not have it any more. */
  cut(): void {
    this.#chunks?.end();
    this.#tail?.breakOff();
  }

  /** Breaks a stream off, so that the client can tell this from an end. */
  breakOff(): void {
    this.#sized?.expire();
    this.#tail?.breakOff();
  }

  /**
   * Hands the connection over to a WebSocket. Not within a cork: when the library has made the WebSocket at the same place in
   * memory, the end of the cork takes it for a response that is over, and may close the connection.
   */
  upgrade(handOver: (response: HttpResponse) => void): void {
    if (this.#state !== 'waiting') return;
    this.#status = 101;
    this.#answeredAt = performance.now();
    this.#end('answered');
    handOver(this.#response);
  }

  #hold(): IncomingBody {
    const incoming = new IncomingBody(this.#response);
    this.#incoming = incoming;
    this.atEnd(() => {
      incoming.stop();
    });
    return incoming;
  }

  #endWithHead(media: string | undefined, headers: Headers, length: number | undefined, status = 200): void {
    this.#response.cork(() => {
      this.#writeHead(status, headers, media);
      this.#endWithoutBody(length);
    });
    this.#end('answered');
  }

  /**
   * Writes the length of a body that is not sent. If the library knew that length, it would take the response for
   * unfinished, and drop the connection at the next request.
   */
  #endWithoutBody(length: number | undefined): void {
    if (length !== undefined) this.#response.writeHeader('Content-Length', String(length));
    this.#response.endWithoutBody();
  }

  #writeHead(status: number, headers: Headers, media: string | undefined): void {
    this.#status = status;
    this.#answeredAt = performance.now();
    this.#response.writeStatus(statusLine(status));
    for (const [name, value] of this.#headOf(headers, media)) this.#response.writeHeader(name, value);
  }

  /** Writes no header name twice, in whatever case, because browsers refuse such answers. */
  #headOf(headers: Headers, media: string | undefined): Iterable<Headers[number]> {
    const head = new Map<string, Headers[number]>();
    const add = (header: Headers[number]): void => {
      head.set(header[0].toLowerCase(), header);
    };
    if (media !== undefined) add(['Content-Type', media]);
    if (this.template !== undefined) add(['X-Route', this.template]);
    add(['X-Request-Id', this.id]);
    this.#commonHeaders(this.origin).forEach(add);
    if (this.staleMs !== undefined) add(['Wirefarm-Stale', String(Math.ceil(this.staleMs / 1000))]);
    if (this.jobId !== undefined) add(['Wirefarm-Job', this.jobId]);
    headers.forEach(add);
    return head.values();
  }

  #end(state: 'answered' | 'gone'): void {
    if (this.#state !== 'waiting') return;
    this.#state = state;
    const callbacks = this.#atEnd;
    this.#atEnd = [];
    for (const callback of callbacks) callback(this);
  }
}

function withoutTickets(query: string): string {
  const pairs = query.split('&');
  return pairs.filter((pair) => !pair.startsWith('ticket=')).join('&');
}
