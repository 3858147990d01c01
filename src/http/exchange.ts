/**
 * One request and its response. Everything that is needed of the request is copied at once, because the
 * library's request object dies with the handler; the response is answered once or not at all, and never
 * touched after its client has gone.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Headers, WholeAnswer } from './answer.js';
import { ChunkedResponse } from './streams/chunked-response.js';
import { IncomingBody, type BodyReceiver } from './streams/incoming-body.js';
import { bytesSource, SizedResponse, type PieceSource } from './streams/sized-response.js';
import { TailResponse } from './streams/tail-response.js';
import type { TailSource } from './streams/tail-flow.js';
import { statusLine } from './headers.js';

/** What is longer is sent at the client's pace: the library would cut off a slow client. */
const LARGEST_AT_ONCE = 64 * 1024;

/** What the server adds to every response. */
export type CommonHeaders = (origin: string) => Headers;

export class Exchange {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string;
  readonly origin: string;
  readonly startedAt = performance.now();
  /** The template of the route, once there is one. */
  template: string | undefined;
  /** The JSON body, once it has been read. */
  body: unknown;
  headers: Readonly<Record<string, string>> = {};
  #status = 0;
  #incoming: IncomingBody | undefined;
  #chunks: ChunkedResponse | undefined;
  #tail: TailResponse | undefined;
  readonly #response: HttpResponse;
  readonly #commonHeaders: CommonHeaders;
  #state: 'waiting' | 'answered' | 'gone' = 'waiting';
  #atEnd: ((exchange: Exchange) => void)[] = [];

  constructor(id: string, request: HttpRequest, response: HttpResponse, commonHeaders: CommonHeaders) {
    this.id = id;
    this.method = request.getMethod().toUpperCase();
    this.path = request.getUrl();
    // Without a query the library answers undefined, whatever its declarations say.
    this.query = request.getQuery() || '';
    this.host = request.getHeader('host');
    this.origin = request.getHeader('origin');
    this.#response = response;
    this.#commonHeaders = commonHeaders;
    response.onAborted(() => {
      this.#end('gone');
    });
  }

  get status(): number {
    return this.#status;
  }

  get isGone(): boolean {
    return this.#state === 'gone';
  }

  /** The address that the request comes from; to be asked for before the handler waits for anything. */
  get address(): string {
    return this.isGone ? '' : Buffer.from(this.#response.getRemoteAddressAsText()).toString();
  }

  /** Whether somebody takes the body, or has taken it. */
  get isReceiving(): boolean {
    return this.#incoming !== undefined;
  }

  /** Called once when the response is complete or the client has gone. */
  atEnd(callback: (exchange: Exchange) => void): void {
    if (this.#state === 'waiting') this.#atEnd.push(callback);
    else callback(this);
  }

  /** Starts to receive the body; to be called before the handler waits for anything. */
  receive(receiver: BodyReceiver): IncomingBody {
    const incoming = new IncomingBody(this.#response, receiver);
    this.#incoming = incoming;
    this.atEnd(() => {
      incoming.stop();
    });
    return incoming;
  }

  answer(answer: WholeAnswer): void {
    if (this.#state !== 'waiting') return;
    if ('json' in answer && answer.json.length > LARGEST_AT_ONCE) {
      const bytes = Buffer.from(answer.json);
      this.streamSized(
        'application/json',
        answer.headers ?? [],
        bytes.length,
        bytesSource(bytes),
        answer.status,
      );
      return;
    }
    // Nobody will read what is left of an unfinished body, so nothing can follow it.
    const closeConnection = this.#incoming?.isComplete === false;
    this.#response.cork(() => {
      const isJson = 'json' in answer;
      this.#writeHead(answer.status, answer.headers ?? [], isJson ? 'application/json' : undefined);
      if (isJson && this.method === 'HEAD') this.#endWithoutBody(Buffer.byteLength(answer.json));
      else if (isJson) this.#response.end(answer.json, closeConnection);
      else this.#endWithoutBody(answer.status === 204 || answer.status === 304 ? undefined : 0);
    });
    this.#end('answered');
  }

  /** Answers with a stream that ends when it is ended. Undefined when only the head was asked for. */
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
    return stream;
  }

  /** Answers with `total` bytes from the source, which is closed in any case. */
  streamSized(media: string, headers: Headers, total: number, source: PieceSource, status = 200): void {
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
    this.atEnd(() => {
      stream.gone();
    });
  }

  /** Answers with what comes from the source until that is over. The source is closed in any case. */
  streamTail(media: string, source: TailSource, headers: Headers = []): 'streamed' {
    if (this.#state !== 'waiting' || this.method === 'HEAD') {
      source.close();
      if (this.#state === 'waiting') this.#endWithHead(media, headers, undefined);
      return 'streamed';
    }
    this.#response.cork(() => {
      this.#writeHead(200, headers, media);
    });
    const stream = new TailResponse(this.#response, source, () => {
      this.#end('answered');
    });
    this.atEnd(() => {
      stream.gone();
    });
    this.#tail = stream;
    return 'streamed';
  }

  /** Ends a stream that has no end of its own. */
  endStream(): void {
    this.#chunks?.end();
    this.#tail?.finish();
  }

  /** Ends a stream before its end, so that the client can tell. */
  breakOff(): void {
    this.#tail?.breakOff();
  }

  /** Hands the connection over to a WebSocket. */
  upgrade(handOver: (response: HttpResponse) => void): void {
    if (this.#state !== 'waiting') return;
    this.#status = 101;
    this.#end('answered');
    this.#response.cork(() => {
      handOver(this.#response);
    });
  }

  #endWithHead(media: string, headers: Headers, length: number | undefined, status = 200): void {
    this.#response.cork(() => {
      this.#writeHead(status, headers, media);
      this.#endWithoutBody(length);
    });
    this.#end('answered');
  }

  /**
   * The library counts a response as pending until as many bytes are sent as it was told, and then drops the
   * connection at the next request: the length of a body that is not sent is ours to write.
   */
  #endWithoutBody(length: number | undefined): void {
    if (length !== undefined) this.#response.writeHeader('Content-Length', String(length));
    this.#response.endWithoutBody();
  }

  #writeHead(status: number, headers: Headers, media: string | undefined): void {
    this.#status = status;
    this.#response.writeStatus(statusLine(status));
    for (const [name, value] of this.#headOf(headers, media)) this.#response.writeHeader(name, value);
  }

  /** No name is there twice, in whatever case: a browser refuses an answer for that. */
  #headOf(headers: Headers, media: string | undefined): Iterable<Headers[number]> {
    const head = new Map<string, Headers[number]>();
    const add = (header: Headers[number]): void => {
      head.set(header[0].toLowerCase(), header);
    };
    if (media !== undefined) add(['Content-Type', media]);
    if (this.template !== undefined) add(['X-Route', this.template]);
    add(['X-Request-Id', this.id]);
    this.#commonHeaders(this.origin).forEach(add);
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
