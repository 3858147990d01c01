/** Whether this server takes new work. It does not when something is broken that all new work needs. */
import type { Store } from '../base/store/store.js';
import type { Engines } from '../engine/control/engines.js';
import { StoreProbe } from './store-probe.js';

export class Readiness {
  readonly #probe: StoreProbe;
  readonly #engines: Pick<Engines, 'anyRuns'>;

  constructor(store: Store, engines: Pick<Engines, 'anyRuns'>) {
    this.#probe = new StoreProbe(store);
    this.#engines = engines;
  }

  /** The reasons why it takes none, for people; empty when it does. */
  async failing(): Promise<readonly string[]> {
    const engines = this.#engines.anyRuns ? undefined : 'engines: none runs';
    return [await this.#probe.problem(), engines].filter((reason) => reason !== undefined);
  }
}
