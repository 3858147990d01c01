/**
 * Names of projects that are held for the moments in which one is made, renamed or shared. A name of an owner is a scope: with its
 * claim a server knows all projects that were acknowledged before, so when it finds the name free then, nobody else can take it
 * until the claim is given back.
 */
import { createHash } from 'node:crypto';
import { refusals } from '../base/errors/errors.js';
import type { HeldScopes } from './held-scopes.js';

const ATTEMPTS = 10;
const PAUSE_MS = 200;

interface HeldNamesOptions {
  readonly scopes: HeldScopes;
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
    const { scopes, catchUp } = this.#options;
    const look = async (): Promise<void> => {
      await catchUp();
      check();
    };
    const waiting = { attempts: ATTEMPTS, pauseMs: PAUSE_MS, look, refusal: refusals.projectNameHeld };
    const release = await scopes.hold(scopeOf(owner, name), waiting);
    try {
      check();
    } catch (error) {
      void release();
      throw error;
    }
    return () => void release();
  }
}

/** Names are longer than keys may be. */
function scopeOf(owner: string | undefined, name: string): string {
  const digest = createHash('sha256').update(JSON.stringify([owner ?? null, name]));
  return `@name-${digest.digest('base64url')}`;
}
