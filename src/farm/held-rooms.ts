/**
 * The right to give out room on a host: one server at a time has it, by the claim of a scope. Requests of one server share a claim,
 * but only so many, so that the others come to their turn.
 */
import { createHash } from 'node:crypto';
import { refusals } from '../base/errors/errors.js';
import type { FarmClock } from './farm-clock.js';
import type { HeldScopes } from './held-scopes.js';

const ATTEMPTS = 200;
const PAUSE_MS = 50;
/** The most requests that share one claim. */
const MOST_SHARING = 64;
/** A request that waits for its project so long gives the right back: others need it. */
const LONGEST_MS = 5000;
/** A claim that was shared by so many is given back for so long: others ask more often. */
const YIELD_MS = 2 * PAUSE_MS;

interface SharedClaim {
  readonly held: Promise<() => Promise<void>>;
  /** Resolves when the next claim may be asked for. */
  readonly over: Promise<void>;
  readonly end: () => void;
  /** The requests that have shared it, and those that still do. */
  joined: number;
  users: number;
}

export class HeldRooms {
  readonly #scopes: HeldScopes;
  readonly #clock: FarmClock;
  readonly #claims = new Map<string, SharedClaim>();

  constructor(scopes: HeldScopes, clock: FarmClock) {
    this.#scopes = scopes;
    this.#clock = clock;
  }

  /**
   * Waits for the right to give out room on the host, and holds it until what is returned is called, once. What all servers have
   * given out there is known here then. `late` is called when it was held for long. Refuses (503) when other servers have it for
   * long.
   */
  async enter(host: string, late: () => void): Promise<() => void> {
    for (;;) {
      const shared = this.#claims.get(host) ?? this.#begin(host);
      if (shared.joined >= MOST_SHARING) {
        await shared.over;
        continue;
      }
      shared.joined++;
      shared.users++;
      let callOff = (): void => undefined;
      const leave = (): void => {
        callOff();
        shared.users--;
        if (shared.users === 0) void this.#finish(host, shared);
      };
      try {
        await shared.held;
      } catch (error) {
        leave();
        throw error;
      }
      callOff = this.#clock.after(LONGEST_MS, () => {
        // Nobody joins any more.
        shared.joined = MOST_SHARING;
        late();
      });
      return leave;
    }
  }

  #begin(host: string): SharedClaim {
    const refusal = refusals.roomHeld;
    const held = this.#scopes.hold(scopeOf(host), { attempts: ATTEMPTS, pauseMs: PAUSE_MS, refusal });
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => (end = resolve));
    const shared: SharedClaim = { held, over, end, joined: 0, users: 0 };
    this.#claims.set(host, shared);
    return shared;
  }

  async #finish(host: string, shared: SharedClaim): Promise<void> {
    // Nobody joins a claim that goes.
    const wasFull = shared.joined >= MOST_SHARING;
    shared.joined = MOST_SHARING;
    await shared.held.then(
      (release) => release(),
      () => undefined,
    );
    if (wasFull) await new Promise<void>((resolve) => void this.#clock.after(YIELD_MS, resolve));
    this.#claims.delete(host);
    shared.end();
  }
}

/** Names of hosts may be longer than keys. */
function scopeOf(host: string): string {
  return `@room-${createHash('sha256').update(host).digest('base64url')}`;
}
