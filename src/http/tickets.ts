/**
 * Tickets: each stands once, for half a minute, for the credentials with which it was made, and for one path only. Programs
 * that can be given a URL and no credentials open captures and consoles by them. Of a ticket only its digest is kept.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { refusals } from '../base/errors/errors.js';
import type { Caller } from './caller.js';
import type { RouteAccess } from './route-access.js';

interface Ticket {
  readonly id: string;
  readonly maker: Caller;
  /** The user, who has so many tickets only. */
  readonly holder: string;
  /** The path with its query. */
  readonly target: string;
  readonly until: number;
}

/** A ticket that is used. */
interface Shown {
  readonly id: string;
  /** The caller who has made it, who may have lost rights since. */
  readonly maker: Caller;
}

export const TICKET_MS = 30_000;
const MOST_OF_ONE = 100;
const MOST = 5000;

export class Tickets {
  readonly #now: () => number;
  /** By their digests, in the order in which they expire. */
  readonly #tickets = new Map<string, Ticket>();
  readonly #counts = new Map<string, number>();

  /** `now` tells milliseconds of a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Makes a ticket for a path with its query. Refuses (429) one that is too many. */
  issue(maker: Caller, target: string): { readonly id: string; readonly secret: string } {
    this.#expire();
    const holder = maker.userId ?? maker.name;
    const count = this.#counts.get(holder) ?? 0;
    if (count >= MOST_OF_ONE || this.#tickets.size >= MOST) throw refusals.tooManyTickets(TICKET_MS / 1000);
    const secret = randomBytes(32).toString('base64url');
    const id = randomUUID();
    const until = this.#now() + TICKET_MS;
    this.#tickets.set(digestOf(secret), { id, maker, holder, target, until });
    this.#counts.set(holder, count + 1);
    return { id, secret };
  }

  /** The ticket with this secret, which is gone then, also when it was for another path. Refuses (401) one that does not count. */
  use(secret: string, target: string): Shown {
    this.#expire();
    const digest = digestOf(secret);
    const ticket = this.#tickets.get(digest);
    if (ticket === undefined) throw refusals.ticketRefused();
    this.#drop(digest, ticket);
    if (ticket.target !== target || !ticket.maker.counts()) throw refusals.ticketRefused();
    return ticket;
  }

  #expire(): void {
    const now = this.#now();
    for (const [digest, ticket] of this.#tickets) {
      if (ticket.until > now) break;
      this.#drop(digest, ticket);
    }
  }

  #drop(digest: string, { holder }: Ticket): void {
    this.#tickets.delete(digest);
    const left = (this.#counts.get(holder) ?? 1) - 1;
    if (left === 0) this.#counts.delete(holder);
    else this.#counts.set(holder, left);
  }
}

/** Whether a route that only reads, or a WebSocket, can be opened by a ticket: captures and consoles of a project. */
export function takesTickets(access: RouteAccess | undefined): boolean {
  if (typeof access !== 'object' || access.project === undefined) return false;
  return access.right === 'capture' || access.right === 'console';
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}
