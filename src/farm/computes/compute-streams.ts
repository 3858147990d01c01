/**
 * Long bodies and WebSockets to and from one compute. Each moves at the pace of the slower end, and nothing is gathered here but
 * what the system has read at once.
 */
import {
  Agent as PlainAgent,
  request as requestPlain,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as GuardedAgent, request as requestGuarded } from 'node:https';
import { pipeline, Readable } from 'node:stream';
import { WebSocket } from 'ws';
import { refusals } from '../../base/errors/errors.js';
import type { FarAnswer, FarRequest, FarSocket, FarSocketUser } from '../../lab/far-node.js';
import { reasonOf, type ComputeClient } from './compute-client.js';
import { DEADLINE_MS } from './deadlines.js';
import { lookupInTurn } from './name-lookup.js';

const MOST_STREAMS = 256;
const HANDSHAKE_MS = 5000;
/** A body that should come or go, and of which nothing has moved for so long, is given up. */
const IDLE_MS = 120_000;
/** A host that has vanished is noticed after this and ten more seconds. */
const PROBED_AFTER_MS = 20_000;
const LARGEST_REFUSAL = 64 * 1024;
const LARGEST_FRAME = 512 * 1024;
const BEYOND_END = 416;
const NOT_REACHED = 1011;
/** Bytes that a frame which waits counts for besides its own: many may be empty. */
const FRAME_COST = 64;

export class ComputeStreams {
  readonly #client: ComputeClient;
  readonly #agent: PlainAgent;
  readonly #open = new Set<{ destroy(): void }>();

  constructor(client: ComputeClient) {
    this.#client = client;
    const options = { keepAlive: false };
    this.#agent = client.compute.protocol === 'https' ? new GuardedAgent(options) : new PlainAgent(options);
  }

  async open(call: FarRequest): Promise<FarAnswer> {
    const { compute } = this.#client;
    this.#checkRoom();
    const request = this.#send(call);
    this.#keep(request);
    try {
      const response = await this.#answerTo(request, call);
      const status = response.statusCode ?? 0;
      if (status >= 300 && status !== 304 && status !== BEYOND_END)
        throw this.#client.refusal(call, status, await shortText(response));
      const headers = Object.fromEntries(
        Object.entries(response.headers).flatMap(([name, value]) =>
          typeof value === 'string' ? [[name, value] as const] : [],
        ),
      );
      return { status, headers, body: response };
    } catch (error) {
      request.destroy();
      if (error instanceof Unanswered) throw refusals.computeSilent(compute.name, reasonOf(error));
      throw error;
    }
  }

  connect(path: string, user: FarSocketUser): FarSocket {
    this.#checkRoom();
    const socket = new WebSocket(this.#client.address('ws', path), {
      headers: this.#client.headers,
      lookup: lookupInTurn,
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: LARGEST_FRAME,
      perMessageDeflate: false,
    });
    const kept = {
      destroy: () => {
        socket.terminate();
      },
    };
    this.#open.add(kept);
    return new UsedSocket(socket, user, () => this.#open.delete(kept));
  }

  close(): void {
    for (const one of this.#open) one.destroy();
    this.#agent.destroy();
  }

  #checkRoom(): void {
    if (this.#open.size >= MOST_STREAMS) throw refusals.tooBusy();
  }

  #keep(request: ClientRequest): void {
    this.#open.add(request);
    request.on('close', () => this.#open.delete(request));
  }

  #send({ method, path, headers, body, signal }: FarRequest): ClientRequest {
    const { compute } = this.#client;
    const send = compute.protocol === 'https' ? requestGuarded : requestPlain;
    const request = send(this.#client.address('http', path), {
      ...{ method, agent: this.#agent, lookup: lookupInTurn },
      ...(signal === undefined ? {} : { signal }),
      headers: {
        ...this.#client.headers,
        ...headers,
        ...(body instanceof Readable ? {} : { 'content-length': body?.length ?? 0 }),
      },
    });
    request.on('socket', (socket) => socket.setKeepAlive(true, PROBED_AFTER_MS));
    if (body instanceof Readable) pipeline(body, request, () => undefined);
    else request.end(body);
    return request;
  }

  /** A request without a long body has an answer in time, and one with such a body as long as it moves. */
  #answerTo(request: ClientRequest, { body, isLive = false }: FarRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const late = (): void => {
        request.destroy(new Error('it took too long'));
      };
      const waits = isLive || body instanceof Readable ? undefined : setTimeout(late, DEADLINE_MS.usual);
      if (!isLive) request.setTimeout(IDLE_MS);
      let response: IncomingMessage | undefined;
      request.on('timeout', () => {
        // An answer that waits for its client is the client's matter.
        if (response === undefined || !response.isPaused()) late();
      });
      request.on('response', (begun) => {
        clearTimeout(waits);
        response = begun;
        if (!isLive) begun.on('resume', () => begun.socket.setTimeout(IDLE_MS));
        resolve(begun);
      });
      request.on('error', (error) => {
        clearTimeout(waits);
        reject(new Unanswered(error.message));
      });
      request.on('close', () => {
        clearTimeout(waits);
        reject(new Unanswered('the connection was closed'));
      });
    });
  }
}

class Unanswered extends Error {}

class UsedSocket implements FarSocket {
  readonly #socket: WebSocket;
  /** Frames that were sent before the connection was there. */
  #early: { readonly bytes: Uint8Array; readonly isText: boolean }[] | undefined = [];
  #earlyBytes = 0;
  #isOver = false;

  constructor(socket: WebSocket, user: FarSocketUser, closed: () => void) {
    this.#socket = socket;
    socket.on('open', () => {
      const early = this.#early ?? [];
      this.#early = undefined;
      for (const { bytes, isText } of early) this.send(bytes, isText);
    });
    socket.on('message', (data, isBinary) => {
      if (!this.#isOver && !user.received(data as Buffer, !isBinary)) socket.pause();
    });
    let failure = '';
    socket.on('error', (error) => {
      failure = reasonOf(error);
    });
    socket.on('close', (code, reason) => {
      closed();
      if (this.#isOver) return;
      this.#isOver = true;
      if (failure === '') user.ended(code, reason.toString());
      else user.ended(NOT_REACHED, failure);
    });
  }

  send(bytes: Uint8Array, isText: boolean): number {
    if (this.#isOver) return 0;
    if (this.#early === undefined) {
      if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(bytes, { binary: !isText });
      return this.#socket.bufferedAmount;
    }
    this.#early.push({ bytes, isText });
    this.#earlyBytes += bytes.length + FRAME_COST;
    return this.#earlyBytes;
  }

  goOn(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  end(): void {
    this.#isOver = true;
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close();
    else this.#socket.terminate();
    // A close that is not answered would wait behind frames that nobody takes.
    this.goOn();
  }
}

async function shortText(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > LARGEST_REFUSAL) break;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
