/**
 * The WebSockets of the server. Frames that wait for their client are bounded: beyond the bound the library closes
 * the connection. Frames of a tail are sent at the client's pace; those of a duplex route are bounded by the
 * route. Only a duplex route gets the frames of its clients. The library pings every client, and closes the connection
 * of one that sends nothing for IDLE_SECONDS, not even a pong.
 */
import type {
  HttpRequest,
  HttpResponse,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
} from 'uWebSockets.js';
import { refusals } from '../base/errors/errors.js';
import type { Caller } from './caller.js';
import { credentialsOf } from './credentials.js';
import type { Dispatcher } from './dispatcher.js';
import type { Exchange } from './exchange.js';
import type { Tunnel } from './streams/tunnel.js';
import { checkAccess, isServed, type RouteAccess } from './route-access.js';
import type { DuplexSocketRoute, FrameSocketRoute } from './route.js';
import type { Match } from './router.js';
import { DuplexSocket } from './streams/duplex-socket.js';
import { closeReason, TailSocket } from './streams/tail-socket.js';
import type { TailSource } from './streams/tail-flow.js';

/** The use of a connection, from its opening on. */
interface Use {
  /** The connection is closed, with this code. */
  gone(code?: number, reason?: string): void;
  /** The library has sent some of the bytes that it holds. */
  drained?(): void;
  /** A frame of the client; its memory is valid only during the call. */
  received?(frame: ArrayBuffer, isText: boolean): void;
}

/** The right by which a WebSocket is open. */
interface Permit {
  readonly caller: Caller;
  readonly access: RouteAccess;
  readonly params: Match['params'];
}

interface Session {
  /** Starts to use the connection. */
  readonly begin: (socket: WebSocket<Session>) => Use;
  /** Called instead of `begin` when the connection is not made. */
  readonly giveUp?: () => void;
  use?: Use;
  permit?: Permit;
}

interface WebSocketsOptions {
  readonly dispatcher: Dispatcher;
  /** Makes the exchange of an upgrade request. */
  readonly begin: (response: HttpResponse, request: HttpRequest) => Exchange;
  readonly fail: (exchange: Exchange, error: unknown) => void;
}

const IDLE_SECONDS = 120;
const LARGEST_BACKLOG = 1024 * 1024;
const LARGEST_FRAME = 64 * 1024;
const GOING_AWAY = 1001;
const FORBIDDEN = 1008;

export class WebSockets {
  readonly #options: WebSocketsOptions;
  readonly #sockets = new Set<WebSocket<Session>>();

  constructor(options: WebSocketsOptions) {
    this.#options = options;
  }

  /** The settings and callbacks for an app of the library; `onClose` is called when a WebSocket has closed. */
  behavior(onClose: () => void): WebSocketBehavior<Session> {
    return {
      idleTimeout: IDLE_SECONDS,
      maxBackpressure: LARGEST_BACKLOG,
      closeOnBackpressureLimit: true,
      maxPayloadLength: LARGEST_FRAME,
      upgrade: (response, request, context) => {
        this.#upgrade(response, request, context);
      },
      open: (socket) => {
        this.#open(socket);
      },
      message: (socket, frame, isBinary) => {
        socket.getUserData().use?.received?.(frame, !isBinary);
      },
      drain: (socket) => {
        socket.getUserData().use?.drained?.();
      },
      close: (socket, code, reason) => {
        this.#sockets.delete(socket);
        onClose();
        socket.getUserData().use?.gone(code, Buffer.from(reason).toString());
      },
    };
  }

  /** How many are open. */
  get size(): number {
    return this.#sockets.size;
  }

  /** Ends those whose callers may not have them any more; tells of the others. */
  cutForbidden(goesOn: (access: RouteAccess, params: Match['params']) => void): void {
    for (const socket of this.#sockets) {
      const { permit } = socket.getUserData();
      if (permit === undefined) continue;
      if (isServed(permit.caller, permit.access, permit.params)) goesOn(permit.access, permit.params);
      else socket.end(FORBIDDEN, 'these credentials do not count for this any more');
    }
  }

  close(): void {
    for (const socket of this.#sockets) socket.end(GOING_AWAY, 'the server is stopping');
  }

  #upgrade(response: HttpResponse, request: HttpRequest, context: us_socket_context_t): void {
    const { begin, fail } = this.#options;
    const exchange = begin(response, request);
    const key = request.getHeader('sec-websocket-key');
    const protocol = request.getHeader('sec-websocket-protocol');
    const extensions = request.getHeader('sec-websocket-extensions');
    this.#check(exchange, request).then(
      (session) => {
        if (session === undefined) return;
        if (exchange.isGone) session.giveUp?.();
        exchange.upgrade((waiting) => {
          waiting.upgrade(session, key, protocol, extensions, context);
        });
      },
      (error: unknown) => {
        fail(exchange, error);
      },
    );
  }

  /** How the WebSocket is used; undefined when the request has been answered. */
  async #check(exchange: Exchange, request: HttpRequest): Promise<Session | undefined> {
    const { dispatcher } = this.#options;
    const { forwarder } = dispatcher;
    const credentials = credentialsOf(request, true);
    dispatcher.checkSource(exchange, true);
    const { endpoint, params } = dispatcher.match(exchange);
    const departure = endpoint.socket && forwarder?.departureOf(exchange, request, endpoint.socket, params);
    const access = endpoint.socket?.access;
    dispatcher.enter(exchange, await dispatcher.admit(exchange, credentials, { access, params }));
    if (endpoint.socket === undefined) throw refusals.webSocketUnknown();
    const route = endpoint.socket;
    const owner = departure && (await forwarder?.ownerFor(departure, exchange));
    if (forwarder !== undefined && departure !== undefined && owner !== undefined) {
      const pass = dispatcher.gate.passOf(exchange.caller);
      const { goesOn = false } = route;
      const isDuplex = 'openDuplex' in route;
      return tunnelSession(
        await forwarder.tunnels.open({ ...departure, exchange, owner, pass, goesOn, isDuplex }),
      );
    }
    checkAccess(exchange.caller, route.access, params);
    exchange.group = route.tag;
    const query = dispatcher.query(exchange, route.query);
    const { caller } = exchange;
    const session =
      'openTail' in route
        ? tailSession(await route.openTail(params, query))
        : 'openDuplex' in route
          ? await duplexSession(route, params, query, caller)
          : await frameSession(route, params, query, caller);
    return { ...session, permit: { caller, access: route.access, params } };
  }

  #open(socket: WebSocket<Session>): void {
    this.#sockets.add(socket);
    const session = socket.getUserData();
    try {
      const use = session.begin(socket);
      // The connection may have been ended already.
      if (this.#sockets.has(socket)) session.use = use;
      else use.gone();
    } catch (error) {
      if (this.#sockets.has(socket)) socket.end(GOING_AWAY, closeReason(error));
    }
  }
}

async function frameSession(
  route: FrameSocketRoute,
  params: Match['params'],
  query: unknown,
  caller: Caller,
): Promise<Session> {
  await route.check(params, query);
  return {
    begin: (socket) => {
      const send = (frame: string | Uint8Array): void => {
        socket.send(frame, typeof frame !== 'string');
      };
      return { gone: route.open(params, send, query, caller) };
    },
  };
}

function tunnelSession(tunnel: Tunnel | undefined): Session | undefined {
  if (tunnel === undefined) return undefined;
  return {
    begin: (socket) => {
      tunnel.begin(socket);
      return tunnel;
    },
    giveUp: () => {
      tunnel.gone();
    },
  };
}

function tailSession(source: TailSource): Session {
  return {
    begin: (socket) => new TailSocket(socket, source),
    giveUp: () => {
      source.close();
    },
  };
}

async function duplexSession(
  route: DuplexSocketRoute,
  params: Match['params'],
  query: unknown,
  caller: Caller,
): Promise<Session> {
  await route.checkDuplex(params);
  return {
    begin: (socket) =>
      new DuplexSocket(socket, (connection) => route.openDuplex({ params, query, caller }, connection)),
  };
}
