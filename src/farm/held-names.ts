/**
 * Names of projects that are held for the moments in which one is made, renamed or shared. A name of an owner is a scope: one
 * server at a time has the claim. With the claim a server knows all projects that were acknowledged before, so when it finds the
 * name free then, nobody else can take it until the claim is given back. It ends with the lease of the server, as the claim of
 * the project does, without which nothing of the project is stored.
 */
import { createHash } from 'node:crypto';
import { refusals } from '../base/errors/errors.js';
import type { Claim, Position, SharedStore } from '../base/store/store.js';
import { within, type FarmClock } from './farm-clock.js';

const ATTEMPTS = 10;
const PAUSE_MS = 200;
const PATIENCE_MS = 2000;

interface HeldNamesOptions {
  readonly store: Pick<SharedStore, 'claim'>;
  readonly clock: FarmClock;
  /** Resolves when the changes up to the position are known here. */
  readonly reached: (position: Position) => Promise<void>;
  /** Resolves when all that was acknowledged before is known here, or cannot be. */
  readonly catchUp: () => Promise<unknown>;
}

export class HeldNames {
  readonly #options: HeldNamesOptions;

  constructor(options: HeldNamesOptions) {
    this.#options = options;
  }

  /**
   * Holds a name of an owner until what is returned is called. `check` refuses a name that is taken, as far as this server
   * knows. Refuses (503) a name that another server holds for long. Claim the project first.
   */
  async hold(owner: string | undefined, name: string, check: () => void): Promise<() => void> {
    const { clock, reached, catchUp } = this.#options;
    const claim = await this.#claim(scopeOf(owner, name), async () => {
      await catchUp();
      check();
    });
    const release = (): void => void claim.claim.release();
    try {
      const isKnown = await within(
        clock,
        PATIENCE_MS,
        reached(claim.position).then(() => true),
      );
      if (isKnown === undefined) throw refusals.storeUnreachable();
      check();
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  /** `look` is called whenever another one has the claim. */
  async #claim(
    scope: string,
    look: () => Promise<void>,
  ): Promise<{ readonly claim: Claim; readonly position: Position }> {
    const { store, clock } = this.#options;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const outcome = await store.claim(scope);
      if ('claim' in outcome) return { claim: outcome.claim, position: outcome.reading.position };
      await look();
      await new Promise<void>((resolve) => void clock.after(PAUSE_MS, resolve));
    }
    throw refusals.projectNameHeld();
  }
}

/** Names are longer than keys may be. */
function scopeOf(owner: string | undefined, name: string): string {
  const digest = createHash('sha256').update(JSON.stringify([owner ?? null, name]));
  return `@name-${digest.digest('base64url')}`;
}
