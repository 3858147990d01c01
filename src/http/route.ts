/**
 * One entry of the route table: the parameters, the body, the answers and the handler of a path. Routing, validation,
 * typed handlers, error bodies and the OpenAPI document all come from these entries.
 */
import type { z } from 'zod';
import type { Fault } from '../base/errors/errors.js';
import type { Answer } from './answer.js';
import type { Caller } from './caller.js';
import type { Exchange } from './exchange.js';
import type { RouteAccess } from './route-access.js';
import type { Scoped, RouteScope } from './route-scope.js';
import type { DuplexConnection, DuplexReceiver } from './streams/duplex-socket.js';
import type { TailSource } from './streams/tail-flow.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

/** The body of a request: a schema, `raw` for bytes that are streamed to the handler, or none. */
export type BodyKind = z.ZodType | 'raw' | undefined;

/** The outcome of a check: what the schema makes of the body, or why that does not fit. */
export type CheckedBody =
  | { readonly data: unknown }
  | { readonly issues: string; readonly faults: readonly Fault[] };

/** Parses a body with its schema on another thread or in slices, for bodies so large that this takes long. */
type BodyCheck = (body: unknown) => Promise<CheckedBody>;

/** The body of an answer: a schema, bytes of this media type, or none. */
export type AnswerKind = z.ZodType | { readonly media: string } | null;

export interface RouteRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly exchange: Exchange;
}

interface RouteHead {
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly access: RouteAccess;
  /** The scope that it acts on, when that is not what its path or the table tells. */
  readonly scope?: RouteScope | undefined;
  /** It is a stream of events of a project, which goes on when another server of a farm takes the project over. */
  readonly goesOn?: boolean | undefined;
  readonly params: z.ZodObject;
}

/** A route as the table has it, without the types of its handler. */
export interface Route extends RouteHead {
  readonly method: Method;
  /** Whether every server of a farm answers from what it follows of the others, once it has caught up. */
  readonly isFollowed?: boolean | undefined;
  readonly query: z.ZodType | undefined;
  readonly body: BodyKind;
  readonly checkBody: BodyCheck | undefined;
  /** Request headers that the handler reads. */
  readonly headers: readonly string[];
  readonly answers: Readonly<Record<number, AnswerKind>>;
  handle(request: RouteRequest<unknown, unknown, unknown>): Answer | Promise<Answer>;
}

interface RouteSpec<
  Params extends z.ZodObject,
  Query extends z.ZodType,
  Body extends BodyKind,
> extends RouteHead {
  readonly method: Method;
  readonly isFollowed?: boolean;
  readonly params: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly checkBody?: BodyCheck;
  readonly headers?: readonly string[];
  readonly answers: Readonly<Record<number, AnswerKind>>;
  handle(
    request: RouteRequest<
      z.output<Params>,
      z.output<Query>,
      Body extends z.ZodType ? z.output<Body> : undefined
    >,
  ): Answer | Promise<Answer>;
}

export function route<
  Params extends z.ZodObject,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends BodyKind = undefined,
>(spec: RouteSpec<Params, Query, Body>): Route {
  return {
    ...spec,
    query: spec.query,
    body: spec.body,
    checkBody: spec.checkBody,
    headers: spec.headers ?? [],
    // The dispatcher has parsed params, query and body with the schemas that these types come from.
    handle: (request) => spec.handle(request as Parameters<typeof spec.handle>[0]),
  };
}

type PathParams = Readonly<Record<string, string>>;

/** A WebSocket path: it sends whole frames, strings as text and bytes as binary, and ignores all that the client sends. */
export interface FrameSocketRoute extends RouteHead {
  readonly query?: z.ZodType;
  /** Refuses before the upgrade. The schema has parsed `query`. */
  check(params: PathParams, query: unknown): void | Promise<void>;
  /** Starts to send; returns the function that stops it. */
  open(
    params: PathParams,
    send: (frame: string | Uint8Array) => void,
    query: unknown,
    caller: Caller,
  ): () => void;
}

/** A WebSocket path: it sends the bytes of a source in binary frames, at the client's pace. */
interface TailSocketRoute extends RouteHead {
  readonly query: z.ZodType | undefined;
  /** Refuses before the upgrade. The source is closed in any case. */
  openTail(params: unknown, query: unknown): TailSource | Promise<TailSource>;
}

/** The request that has opened a WebSocket in both directions. */
interface DuplexRequest<Params, Query> {
  readonly params: Params;
  readonly query: Query;
  readonly caller: Caller;
}

/** A WebSocket path in both directions: frames of the client go to the route, which sends frames of its own. */
export interface DuplexSocketRoute extends RouteHead {
  readonly query: z.ZodType | undefined;
  /** Refuses before the upgrade. */
  checkDuplex(params: unknown): void | Promise<void>;
  /** Called when the connection is open. An error ends the connection. */
  openDuplex(request: DuplexRequest<unknown, unknown>, connection: DuplexConnection): DuplexReceiver;
}

export type SocketRoute = FrameSocketRoute | TailSocketRoute | DuplexSocketRoute;

interface TailSocketSpec<Params extends z.ZodObject, Query extends z.ZodType> extends RouteHead {
  readonly params: Params;
  readonly query?: Query;
  readonly open: (request: {
    readonly params: z.output<Params>;
    readonly query: z.output<Query>;
  }) => TailSource | Promise<TailSource>;
}

interface DuplexSocketSpec<Params extends z.ZodObject, Query extends z.ZodType> extends RouteHead {
  readonly params: Params;
  readonly query?: Query;
  readonly check: (params: z.output<Params>) => void | Promise<void>;
  readonly openDuplex: (
    request: DuplexRequest<z.output<Params>, z.output<Query>>,
    connection: DuplexConnection,
  ) => DuplexReceiver;
}

export function socketRoute<Params extends z.ZodObject, Query extends z.ZodType = z.ZodUndefined>(
  spec: DuplexSocketSpec<Params, Query>,
): DuplexSocketRoute;
export function socketRoute<Params extends z.ZodObject, Query extends z.ZodType = z.ZodUndefined>(
  spec: TailSocketSpec<Params, Query>,
): TailSocketRoute;
export function socketRoute<Params extends z.ZodObject, Query extends z.ZodType>(
  spec: DuplexSocketSpec<Params, Query> | TailSocketSpec<Params, Query>,
): DuplexSocketRoute | TailSocketRoute {
  // The server has parsed params and query with the schemas that these types come from.
  if ('openDuplex' in spec) {
    const { path, summary, tag, access, scope, params, query } = spec;
    return {
      ...{ path, summary, tag, access, scope, params, query },
      checkDuplex: (given) => spec.check(given as z.output<Params>),
      openDuplex: (request, connection) =>
        spec.openDuplex(request as DuplexRequest<z.output<Params>, z.output<Query>>, connection),
    };
  }
  const { open, ...rest } = spec;
  return {
    ...rest,
    query: spec.query,
    openTail: (params, query) =>
      open({ params: params as z.output<Params>, query: query as z.output<Query> }),
  };
}

export interface RouteTable {
  readonly routes: readonly Scoped<Route>[];
  readonly sockets: readonly Scoped<SocketRoute>[];
}
