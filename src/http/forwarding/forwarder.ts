/**
 * Finds out which requests are another server's, and sends them there: any server of a farm is the entrance to all of it. A
 * request goes one step only, so that servers of different minds do not send it around. Only servers of a farm load this.
 */
import type { HttpRequest } from 'uWebSockets.js';
import { refusals } from '../../base/errors/errors.js';
import { FARM_SCOPE } from '../../base/store/store.js';
import type { Exchange } from '../exchange.js';
import type { Scoped } from '../route-scope.js';
import type { HopCredential } from './hop-credential.js';
import { forwardedHead } from './forwarded-headers.js';
import { Hops, type Hop, type HopFault } from './hop.js';
import { READING, type Departure, type Leg } from './journey.js';
import { OwnerRequests } from './owner-requests.js';
import { OwnerTunnels } from './owner-tunnels.js';
import type { OwningServer, OwnServer, ScopeOwners } from './scope-owners.js';
import { ServerCalls } from './server-calls.js';

interface ForwarderOptions {
  readonly owners: ScopeOwners;
  readonly credential: HopCredential;
  /** This server, once it listens. */
  readonly own: () => OwnServer;
}

const PROJECT_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

export class Forwarder {
  readonly requests: OwnerRequests;
  readonly tunnels: OwnerTunnels;
  readonly calls: ServerCalls;
  readonly #options: ForwarderOptions;
  readonly #hops: Hops;
  readonly #legs = new Set<Leg>();

  constructor(options: ForwarderOptions) {
    const hops = new Hops(options);
    const journeys = { ...options, hops, legs: this.#legs };
    this.#options = options;
    this.#hops = hops;
    this.requests = new OwnerRequests(journeys);
    this.tunnels = new OwnerTunnels(journeys);
    this.calls = new ServerCalls({ hops, own: options.own });
  }

  /** How many requests and WebSockets are with other servers now. */
  get size(): number {
    return this.#legs.size;
  }

  /** The word of another server of the farm about the request; undefined for one of a client. */
  hopOf(request: HttpRequest): Hop | HopFault | undefined {
    return this.#hops.read(request);
  }

  /**
   * How a request leaves this server; undefined when it is served here. Call it in the first step: a body is held from there
   * on.
   */
  departureOf(
    exchange: Exchange,
    request: HttpRequest,
    { scope: kind }: Scoped<object>,
    { project_id: project = '' }: Readonly<Record<string, string>>,
  ): Departure | undefined {
    // A project whose id is none is nobody's: this server has the words for that, too.
    if (kind === 'here' || kind === 'any' || (kind === 'project' && !PROJECT_ID.test(project))) return;
    const scope = kind === 'farm' ? FARM_SCOPE : project;
    const known = this.#options.owners.known(scope);
    if (known.at === 'here' && known.claim.isFresh()) return;
    const head = forwardedHead(request);
    if (head.length !== 0) exchange.hold();
    return { scope, ...head };
  }

  /**
   * The other server to which the request goes; undefined when this one answers for the scope. Refuses (503) a scope that
   * nobody has, a change of one that another server might have, and a request that another server has sent here by mistake.
   */
  async ownerFor({ scope }: Departure, exchange: Exchange): Promise<OwningServer | undefined> {
    const wasForwarded = exchange.hop !== undefined;
    const found = await this.#options.owners.find(scope, wasForwarded);
    if (found.at === 'nobody') throw refusals.ownerMissing();
    if (found.at === 'here') {
      if (found.staleMs === undefined) return undefined;
      if (!READING.has(exchange.method)) throw refusals.ownerUnsure();
      exchange.staleMs = found.staleMs;
      return undefined;
    }
    if (wasForwarded) throw refusals.ownerElsewhere();
    return found;
  }

  /** Looks for owners that have gone without a word; call it now and then. */
  look(): void {
    const now = performance.now();
    for (const leg of this.#legs) {
      const known = this.#options.owners.known(leg.scope);
      leg.look(known.at !== 'server' || known.id !== leg.owner, now);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.requests.close(), this.calls.close()]);
  }
}
