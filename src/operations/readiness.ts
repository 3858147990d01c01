/** Whether this server takes new work. It does not when something is broken that all new work needs. */
import type { Engines } from '../engine/control/engines.js';
import type { StoreProbe } from './store-probe.js';

export class Readiness {
  readonly #probe: StoreProbe;
  readonly #engines: Pick<Engines, 'running'>;

  constructor(probe: StoreProbe, engines: Pick<Engines, 'running'>) {
    this.#probe = probe;
    this.#engines = engines;
  }

  /** The reasons why it takes none, for people; empty when it does. */
  async failing(): Promise<readonly string[]> {
    const engines = this.#engines.running > 0 ? undefined : 'engines: none runs';
    return [await this.#probe.problem(), engines].filter((reason) => reason !== undefined);
  }
}
