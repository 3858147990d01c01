/**
 * Scopes that a server holds for moments: one server at a time has the claim. Whoever has it knows all that was acknowledged before,
 * so what it finds then stays so until the claim is given back. It ends with the lease of the server, as the claim of a project
 * does, without which nothing of the project is stored.
 */
import { refusals } from '../base/errors/errors.js';
import type { Claim, Position, SharedStore } from '../base/store/store.js';
import { within, type FarmClock } from './farm-clock.js';

const PATIENCE_MS = 2000;

interface HeldScopesOptions {
  readonly store: Pick<SharedStore, 'claim'>;
  readonly clock: FarmClock;
  /** Resolves when the changes up to the position are known here. */
  readonly reached: (position: Position) => Promise<void>;
}

/** How a scope is waited for that another server holds. */
interface Waiting {
  readonly attempts: number;
  readonly pauseMs: number;
  /** Called whenever another server has it; may refuse. */
  readonly look?: () => Promise<void>;
  /** The refusal after all attempts. */
  readonly refusal: () => Error;
}

export class HeldScopes {
  readonly #options: HeldScopesOptions;

  constructor(options: HeldScopesOptions) {
    this.#options = options;
  }

  /** Holds a scope until what is returned is called, which resolves when others may have it. */
  async hold(scope: string, waiting: Waiting): Promise<() => Promise<void>> {
    const { clock, reached } = this.#options;
    const { claim, position } = await this.#claim(scope, waiting);
    const release = (): Promise<void> => claim.release().catch(() => undefined);
    const isKnown = await within(
      clock,
      PATIENCE_MS,
      reached(position).then(() => true),
    );
    if (isKnown === true) return release;
    await release();
    throw refusals.storeUnreachable();
  }

  async #claim(
    scope: string,
    { attempts, pauseMs, look, refusal }: Waiting,
  ): Promise<{ readonly claim: Claim; readonly position: Position }> {
    const { store, clock } = this.#options;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const outcome = await store.claim(scope);
      if ('claim' in outcome) return { claim: outcome.claim, position: outcome.reading.position };
      await look?.();
      await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
    }
    throw refusal();
  }
}
