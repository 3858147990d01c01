/** Whether this server takes new work. It does not when something is broken that all new work needs. */
import type { Intake } from '../base/intake.js';
import type { Engines } from '../engine/control/engines.js';
import type { Audit } from '../lab/audit/audit.js';
import type { StoreProbe } from './store-probe.js';

interface ReadinessOptions {
  readonly probe: StoreProbe;
  readonly engines: Pick<Engines, 'running'>;
  readonly intake: Pick<Intake, 'isOpen'>;
  readonly audit: Pick<Audit, 'problem'>;
}

export class Readiness {
  readonly #probe: StoreProbe;
  readonly #engines: Pick<Engines, 'running'>;
  readonly #intake: Pick<Intake, 'isOpen'>;
  readonly #audit: Pick<Audit, 'problem'>;

  constructor({ probe, engines, intake, audit }: ReadinessOptions) {
    this.#probe = probe;
    this.#engines = engines;
    this.#intake = intake;
    this.#audit = audit;
  }

  /** The reasons why it takes none, for people; empty when it does. */
  async failing(): Promise<readonly string[]> {
    const engines = this.#engines.running > 0 ? undefined : 'engines: none runs';
    const drain = this.#intake.isOpen ? undefined : 'drain: an operator has asked for it';
    return [await this.#probe.problem(), engines, drain, this.#audit.problem()].filter(
      (reason) => reason !== undefined,
    );
  }
}
