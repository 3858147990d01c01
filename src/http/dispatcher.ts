/**
 * Leads a request to its handler: finds the route, checks origin and credentials, and checks path, query and body
 * against the schemas of the route. Handlers see only requests that fit.
 */
import type { HttpRequest } from 'uWebSockets.js';
import type { z } from 'zod';
import { refusals, type Fault, type Refusal } from '../base/errors/errors.js';
import { describeIssues, faultsOf, fitted } from '../base/errors/validation.js';
import { empty, jsonText, type Answer } from './answer.js';
import { credentialsOf, type Credentials } from './credentials.js';
import { errorAnswer, shownStart } from './error-body.js';
import type { Caller } from './caller.js';
import type { ChangeNotes } from './change-notes.js';
import type { Exchange } from './exchange.js';
import type { Departure } from './forwarding/journey.js';
import type { Forwarder } from './forwarding/forwarder.js';
import type { Gate } from './gate.js';
import { readJsonBody } from './json-body.js';
import { RawBody } from './raw-body.js';
import type { RateLimits } from './rate-limits.js';
import type { Method, Route, RouteRequest, RouteTable } from './route.js';
import { checkAccess, type RouteAccess } from './route-access.js';
import { Router, type Match } from './router.js';
import { takesTickets } from './tickets.js';

const CHANGING = new Set(['POST', 'PUT', 'DELETE', 'PATCH']);
const LONGEST_ECHO = 1000;

export function isChanging(method: string): boolean {
  return CHANGING.has(method);
}

/** The place to which a request leads. A route that changes something has no access by tickets. */
interface Goal {
  readonly access: RouteAccess | undefined;
  readonly params: Match['params'];
}

interface DispatcherOptions {
  readonly table: RouteTable;
  readonly gate: Gate;
  readonly maxJsonBody: () => number;
  readonly notes?: ChangeNotes | undefined;
  readonly limits: RateLimits;
  /** The sender of requests to other servers of a farm; undefined for a server on its own. */
  readonly forwarder?: Forwarder | undefined;
}

export class Dispatcher {
  readonly gate: Gate;
  readonly forwarder: Forwarder | undefined;
  readonly #router: Router;
  readonly #maxJsonBody: () => number;
  readonly #notes: ChangeNotes | undefined;
  readonly #limits: RateLimits;

  constructor({ table, gate, maxJsonBody, notes, limits, forwarder }: DispatcherOptions) {
    this.gate = gate;
    this.forwarder = forwarder;
    this.#limits = limits;
    this.#router = new Router(table);
    this.#maxJsonBody = maxJsonBody;
    this.#notes = notes;
  }

  dispatch(exchange: Exchange, request: HttpRequest): Answer | Promise<Answer> {
    this.checkSource(exchange, isChanging(exchange.method));
    const { endpoint, params } = this.match(exchange);
    if (isPreflight(exchange, request, endpoint)) {
      const asked = request.getHeader('access-control-request-headers');
      return empty(200, this.gate.preflightHeaders(exchange.origin, endpoint.methods.keys(), asked));
    }
    const route = endpoint.methods.get((exchange.method === 'HEAD' ? 'GET' : exchange.method) as Method);
    exchange.group = route?.tag;
    exchange.summary = route?.summary;
    if (route !== undefined && route.headers.length > 0)
      exchange.headers = copyHeaders(request, route.headers);
    const departure = route && this.forwarder?.departureOf(exchange, request, route, params);
    const serve = (caller: Caller): Answer | Promise<Answer> => {
      this.enter(exchange, caller);
      if (route !== undefined && departure !== undefined) {
        const depart = (): Promise<Answer> => this.#depart(exchange, departure, route, params);
        return departure.length === 0 ? depart() : heardOut(exchange, depart);
      }
      if (route !== undefined) return this.#call(exchange, route, params);
      if (endpoint.socket !== undefined && exchange.method === 'GET') throw refusals.webSocketOnly();
      return methodUnknown(exchange, endpoint);
    };
    const credentials = credentialsOf(request, isChanging(exchange.method));
    if (route?.access === 'anyone' && credentials.authorization === '' && exchange.hop === undefined) {
      return serve(this.gate.visitor(credentials));
    }
    const reads = exchange.method === 'GET' ? route?.access : undefined;
    const caller = this.admit(exchange, credentials, { access: reads, params });
    if (!(caller instanceof Promise)) return serve(caller);
    const later = async (): Promise<Answer> => serve(await caller);
    if (route?.body === undefined) return later();
    if (departure === undefined) exchange.hold();
    return heardOut(exchange, later);
  }

  /** Refuses requests by a wrong name of the server, and of foreign pages. The server that forwards a request has done that. */
  checkSource(exchange: Exchange, isActing: boolean): void {
    if (typeof exchange.hop === 'string') throw refusals[exchange.hop]();
    if (exchange.hop !== undefined) return;
    this.gate.checkHost(exchange.host);
    if (isActing) this.gate.checkOrigin(exchange);
  }

  /** The caller with these credentials, or with the ticket that counts before them. Refuses (401) wrong ones. */
  admit(exchange: Exchange, credentials: Credentials, { access, params }: Goal): Caller | Promise<Caller> {
    const { ticket, path, query, hop } = exchange;
    if (typeof hop === 'object') return this.gate.admitPass(hop.pass);
    if (ticket === undefined) return this.gate.admit(credentials, exchange);
    if (!takesTickets(access)) throw refusals.ticketRefused();
    const { id, maker } = this.gate.tickets.use(ticket, query === '' ? path : `${path}?${query}`);
    exchange.caller = maker;
    exchange.ticketId = id;
    this.#notes?.ticketUsed(exchange, params);
    return maker;
  }

  /** Takes the caller in. Refuses (429) one who sends too many requests. */
  enter(exchange: Exchange, caller: Caller): void {
    exchange.caller = caller;
    if (isChanging(exchange.method)) this.gate.checkHeard(caller);
    // The server that forwards a request has counted it.
    if (exchange.hop === undefined) this.#limits.check(caller, exchange.address, isChanging(exchange.method));
  }

  /** Finds the endpoint of the path. Refuses (404) a path without one. */
  match(exchange: Exchange): Match {
    const match = this.#router.match(exchange.path);
    if (match === undefined) throw refusals.pathUnknown(exchange.path);
    exchange.template = match.endpoint.template;
    return match;
  }

  /** The query as the schema of the route parses it; undefined when the route has none. */
  query(exchange: Exchange, schema: z.ZodType | undefined): unknown {
    if (schema === undefined) return undefined;
    return check(exchange, schema, Object.fromEntries(new URLSearchParams(exchange.query)), 'query');
  }

  /** Forwards the request, unless its scope has come here meanwhile. */
  async #depart(
    exchange: Exchange,
    departure: Departure,
    route: Route,
    params: Match['params'],
  ): Promise<Answer> {
    const { forwarder, gate } = this;
    const owner = await forwarder?.ownerFor(departure, exchange);
    if (forwarder === undefined || owner === undefined) return this.#call(exchange, route, params);
    const { goesOn = false } = route;
    const pass = gate.passOf(exchange.caller);
    return forwarder.requests.forward({ ...departure, exchange, owner, pass, goesOn });
  }

  #call(exchange: Exchange, route: Route, pathParams: Match['params']): Answer | Promise<Answer> {
    const caughtUp = route.isFollowed === true ? this.gate.catchUp() : undefined;
    if (caughtUp === undefined) return this.#handle(exchange, route, pathParams);
    return caughtUp.then((staleMs) => {
      exchange.staleMs = staleMs ?? exchange.staleMs;
      return this.#handle(exchange, route, pathParams);
    });
  }

  #handle(exchange: Exchange, route: Route, pathParams: Match['params']): Answer | Promise<Answer> {
    checkAccess(exchange.caller, route.access, pathParams);
    exchange.rule = { access: route.access, params: pathParams };
    const params = check(exchange, route.params, pathParams, 'path');
    const query = this.query(exchange, route.query);
    const { body } = route;
    const bare = { params, query, body: undefined, exchange };
    const notes = isChanging(exchange.method) && this.#notes?.isFor(exchange) ? this.#notes : undefined;
    const handle = (request: RouteRequest<unknown, unknown, unknown>): Answer | Promise<Answer> =>
      notes === undefined
        ? route.handle(request)
        : notes.noted(exchange, pathParams, () => route.handle(request));
    if (body === 'raw') return heardOut(exchange, () => handle(bare));
    if (body === undefined) return handle(bare);
    return readJsonBody(exchange, this.#maxJsonBody(), notes?.digester(exchange)).then((json) => {
      if (exchange.isGone) return 'streamed';
      exchange.body = json;
      if (route.checkBody === undefined)
        return handle({ params, query, body: check(exchange, body, json, 'body'), exchange });
      return route.checkBody(json).then((checked) => {
        if (exchange.isGone) return 'streamed';
        if ('data' in checked) return handle({ params, query, body: checked.data, exchange });
        throw violated(exchange, json, 'body', checked.issues, checked.faults);
      });
    });
  }
}

/** Drains the body of a refused request, because a client may look for the answer only when it has sent all. */
async function heardOut(exchange: Exchange, handle: () => Answer | Promise<Answer>): Promise<Answer> {
  try {
    return await handle();
  } catch (error) {
    if (!exchange.isGone && !exchange.isReceiving) await new RawBody(exchange).drain();
    throw error;
  }
}

/** Some paths have an OPTIONS route of their own, for which a page may ask without the header of a preflight. */
function isPreflight(exchange: Exchange, request: HttpRequest, { methods }: Match['endpoint']): boolean {
  if (exchange.method !== 'OPTIONS' || exchange.origin === '') return false;
  return !methods.has('OPTIONS') || request.getHeader('access-control-request-method') !== '';
}

/** Parses a part of the request. Refuses (400), in the words of GNS3, a value that does not fit the schema. */
function check(exchange: Exchange, schema: z.ZodType, value: unknown, part: string): unknown {
  const parsed = fitted(schema, value);
  if (parsed.success) return parsed.data;
  const faults = part === 'body' ? faultsOf(parsed.error) : [];
  throw violated(exchange, value, part, describeIssues(parsed.error), faults);
}

function violated(
  exchange: Exchange,
  value: unknown,
  part: string,
  issues: string,
  faults: readonly Fault[],
): Refusal {
  const target = exchange.query === '' ? exchange.path : `${exchange.path}?${exchange.query}`;
  const shown =
    part === 'body' ? ` and JSON data '${shownStart(value, LONGEST_ECHO).slice(0, LONGEST_ECHO)}'` : '';
  return refusals.schemaViolated(
    `with API request '${target.slice(0, LONGEST_ECHO)}'${shown}`,
    issues,
    faults,
  );
}

function methodUnknown(exchange: Exchange, { methods }: Match['endpoint']): Answer {
  const own = [...methods.keys()].filter((method) => method !== 'OPTIONS');
  const allowed = own.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const { json, status } = errorAnswer(refusals.methodUnknown(exchange.method, exchange.path), exchange);
  return jsonText(status, json, [['Allow', [...allowed, 'OPTIONS'].join(', ')]]);
}

function copyHeaders(request: HttpRequest, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, request.getHeader(name)]));
}
