/** A request on its way from this server to the owner of its scope. */
import { refusals, type Refusal } from '../../base/errors/errors.js';
import type { Pass } from '../caller.js';
import type { Exchange } from '../exchange.js';
import { forwardedPath } from './forwarded-headers.js';
import type { Hops } from './hop.js';
import type { OwningServer, ScopeOwners } from './scope-owners.js';

/** A request that leaves this server, as its first step has found it. */
export interface Departure {
  readonly scope: string;
  readonly headers: readonly string[];
  /** The length of its body; undefined when the client does not tell. */
  readonly length: number | undefined;
}

export interface Journey extends Departure {
  readonly exchange: Exchange;
  readonly owner: OwningServer;
  readonly pass: Pass;
  /** Whether its answer is a stream that goes on with the next owner. */
  readonly goesOn: boolean;
}

/** A request or a WebSocket that is under way. */
export interface Leg {
  readonly scope: string;
  /** The id of the server that it leads to. */
  owner: string;
  /** Looks whether that one is there still; `hasMoved` when another has the scope by now. */
  look(hasMoved: boolean, now: number): void;
}

/** The part that requests and WebSockets to owners share. */
export interface JourneyOptions {
  readonly owners: ScopeOwners;
  readonly hops: Hops;
  /** This server. */
  readonly own: () => OwningServer;
  /** All that is under way. */
  readonly legs: Set<Leg>;
}

/** The most that is under way at once. */
export const MOST_LEGS = 4096;
/** The owner is not there, or has lost the scope. */
export const UNAVAILABLE = 503;
/** How long the body of a request that has failed is taken still: a client may look for its answer only when it has sent all. */
const DRAIN_MS = 2000;
/** The methods that change nothing. */
export const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The headers of the request to the owner, whose path and query are `target`: names and values in turn. */
export function headersOf({ exchange, owner, headers, pass }: Journey, target: string, hops: Hops): string[] {
  const { id, address, scheme, ticketId, method } = exchange;
  const told = { id, address, scheme, ticketId, pass };
  return [...headers, ...hops.headers(told, { to: owner, method, target })];
}

/** The path with its query, as it stands in a request. */
export function targetOf({ path, query }: Pick<Exchange, 'path' | 'query'>): string {
  return forwardedPath(query === '' ? path : `${path}?${query}`);
}

/** Why there is no answer, when the client can be told. `isSent` when the owner may have the request. */
export async function refusalFor(
  { exchange, owner: { address } }: Pick<Journey, 'exchange' | 'owner'>,
  isSent: boolean,
): Promise<Refusal> {
  if (!exchange.isGone) await exchange.drainBody(DRAIN_MS);
  if (!isSent) return refusals.ownerUnreachable(address);
  return READING.has(exchange.method) ? refusals.ownerGone(address) : refusals.outcomeUnknown(address);
}
