/**
 * HTTP over a bare TCP connection, for what fetch cannot do: requests that are cut, slow, pipelined or malformed,
 * clients that do not read, and answers seen header by header. Every wait is bounded, so that a hung connection is
 * a failed test.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { patience } from './patience.js';

export interface RawReply {
  readonly status: number;
  /** As they came: in order, names in their own case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  readonly text: string;
}

export interface RawRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with its Content-Length, unless the headers say how it is framed. */
  readonly body?: string | Uint8Array;
  readonly host?: string;
}

type Head = Pick<RawReply, 'status' | 'headers'>;

const QUIET_MS = 15_000;
const CRLF = '\r\n';
const HEAD_END = Buffer.from('\r\n\r\n');

/** The bytes of a request. Texts are sent byte by byte (latin1), so that a path can be no UTF-8. */
export function requestBytes(method: string, path: string, request: RawRequest = {}): Buffer {
  const { headers = {}, host = '127.0.0.1' } = request;
  const body = request.body === undefined ? undefined : Buffer.from(request.body);
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const lines = [`${method} ${path} HTTP/1.1`];
  if (!names.has('host')) lines.push(`Host: ${host}`);
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined && !names.has('content-length') && !names.has('transfer-encoding'))
    lines.push(`Content-Length: ${body.length}`);
  return Buffer.concat([Buffer.from(lines.join(CRLF) + CRLF + CRLF, 'latin1'), body ?? Buffer.alloc(0)]);
}

/** The bytes of a body in chunks of these pieces. */
export function chunked(...pieces: readonly (string | Uint8Array)[]): Buffer {
  const parts = pieces.flatMap((piece) => {
    const bytes = Buffer.from(piece);
    return [Buffer.from(bytes.length.toString(16) + CRLF), bytes, Buffer.from(CRLF)];
  });
  return Buffer.concat([...parts, Buffer.from(`0${CRLF}${CRLF}`)]);
}

/** As Fetch has it: the values of a name that comes several times are one list. */
export function headerOf(reply: Head, name: string): string | undefined {
  const values = reply.headers.filter(([known]) => known.toLowerCase() === name.toLowerCase());
  return values.length === 0 ? undefined : values.map(([, value]) => value).join(', ');
}

/** The body of a reply that must be JSON. */
export function jsonOf(reply: RawReply): Record<string, unknown> {
  return JSON.parse(reply.text) as Record<string, unknown>;
}

export class RawConnection {
  readonly socket: Socket;
  #received: Buffer[] = [];
  #length = 0;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;
  #owesLineEnd = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes) => {
      this.#received.push(bytes);
      this.#length += bytes.length;
      this.#wake?.();
    });
    socket.on('error', (error) => {
      this.#failure = error;
    });
    socket.on('close', () => {
      this.#failure ??= new Error('the server closed the connection');
      this.#wake?.();
    });
  }

  /** `from` is an address of this host that the connection comes from. */
  static async open(port: number, host = '127.0.0.1', from?: string): Promise<RawConnection> {
    const socket = connect({
      port,
      host,
      noDelay: true,
      ...(from === undefined ? {} : { localAddress: from }),
    });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  /** Whether anything has come that was not read yet. */
  get hasReceived(): boolean {
    return this.#length > 0;
  }

  get isClosed(): boolean {
    return this.#failure !== undefined;
  }

  write(bytes: string | Uint8Array): void {
    if (!this.socket.destroyed) this.socket.write(bytes);
  }

  send(method: string, path: string, request: RawRequest = {}): void {
    this.write(requestBytes(method, path, request));
  }

  /** The next reply, whole. Interim ones (1xx) are skipped. */
  async reply(method = 'GET', quietMs = QUIET_MS): Promise<RawReply> {
    const deadline = Date.now() + patience(quietMs);
    const head = await this.#head(deadline);
    const body = await this.#body(head, method, deadline);
    return { ...head, body, text: body.toString() };
  }

  /** The head of the next reply; what follows stays to be read. Interim replies (1xx) count. */
  head(quietMs = QUIET_MS): Promise<Head> {
    return this.#nextHead(Date.now() + patience(quietMs));
  }

  /** The next chunk of a body in chunks. */
  chunk(quietMs = QUIET_MS): Promise<Buffer> {
    return this.#chunk(Date.now() + patience(quietMs));
  }

  /** So many bytes of what comes. */
  bytes(length: number, quietMs = QUIET_MS): Promise<Buffer> {
    return this.#take(length, Date.now() + patience(quietMs));
  }

  /** Everything up to the end of the connection. */
  async rest(quietMs = QUIET_MS): Promise<Buffer> {
    const deadline = Date.now() + patience(quietMs);
    while (this.#failure === undefined) await this.#more(deadline);
    return this.#take(this.#length, deadline);
  }

  /** Resolves when the server has closed the connection. */
  async closed(quietMs = QUIET_MS): Promise<void> {
    const deadline = Date.now() + patience(quietMs);
    while (this.#failure === undefined) await this.#more(deadline);
  }

  /** Goes away without a word. */
  vanish(): void {
    this.socket.resetAndDestroy();
  }

  close(): void {
    this.socket.destroy();
  }

  async #head(deadline: number): Promise<Head> {
    for (;;) {
      const head = await this.#nextHead(deadline);
      if (head.status >= 200) return head;
    }
  }

  async #nextHead(deadline: number): Promise<Head> {
    const end = await this.#find(HEAD_END, deadline);
    const [first = '', ...lines] = (await this.#take(end + 4, deadline))
      .subarray(0, end)
      .toString('latin1')
      .split(CRLF);
    const status = /^HTTP\/1\.1 (\d{3})( |$)/.exec(first)?.[1];
    if (status === undefined) throw new Error(`no status line: ${first}`);
    const headers = lines.map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw new Error(`no header: ${line}`);
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
    });
    return { status: Number(status), headers };
  }

  async #body(head: Head, method: string, deadline: number): Promise<Buffer> {
    if (method === 'HEAD' || head.status === 204 || head.status === 304) return Buffer.alloc(0);
    const length = headerOf(head, 'content-length');
    if (length !== undefined) return this.#take(Number(length), deadline);
    if (headerOf(head, 'transfer-encoding') !== 'chunked') return this.rest();
    const chunks: Buffer[] = [];
    for (let chunk = await this.#chunk(deadline); chunk.length > 0; chunk = await this.#chunk(deadline))
      chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** The library sends the line end of a chunk only with the next one, so it is not waited for. */
  async #chunk(deadline: number): Promise<Buffer> {
    if (this.#owesLineEnd) await this.#take(CRLF.length, deadline);
    this.#owesLineEnd = false;
    const end = await this.#find(Buffer.from(CRLF), deadline);
    const size = (await this.#take(end + 2, deadline)).subarray(0, end).toString('latin1');
    if (!/^[\da-f]+$/i.test(size)) throw new Error(`no chunk: ${JSON.stringify(size)}`);
    const length = Number.parseInt(size, 16);
    if (length === 0) await this.#take(CRLF.length, deadline);
    else this.#owesLineEnd = true;
    return this.#take(length, deadline);
  }

  async #find(pattern: Buffer, deadline: number): Promise<number> {
    for (;;) {
      const found = this.#joined().indexOf(pattern);
      if (found >= 0) return found;
      await this.#more(deadline);
    }
  }

  async #take(length: number, deadline: number): Promise<Buffer> {
    while (this.#length < length) await this.#more(deadline);
    const all = this.#joined();
    this.#received = [all.subarray(length)];
    this.#length -= length;
    return all.subarray(0, length);
  }

  #joined(): Buffer {
    if (this.#received.length !== 1) this.#received = [Buffer.concat(this.#received)];
    return this.#received[0] ?? Buffer.alloc(0);
  }

  /** Waits for more bytes; throws when none can come or the patience ends. */
  async #more(deadline: number): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const remaining = deadline - Date.now();
    if (remaining <= 0) throw new Error('no answer: the connection hangs');
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, remaining);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}

/** One request on a connection of its own. */
export async function rawRequest(
  port: number,
  method: string,
  path: string,
  request: RawRequest = {},
): Promise<RawReply> {
  const connection = await RawConnection.open(port);
  try {
    connection.send(method, path, request);
    return await connection.reply(method);
  } finally {
    connection.close();
  }
}
