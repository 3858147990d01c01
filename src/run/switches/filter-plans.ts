/** Packet filters as engines run them: from what is stored of a link, for a kind of node. */
import type { BpfAsker, BpfCompiler } from '../../engine/bpf/bpf-compiler.js';
import { Refusal } from '../../base/errors/errors.js';
import type { AcceptedFilters } from '../../lab/topology/filters.js';
import type { FilterPlan } from '../../engine/filters/filter-plan.js';
import type { DeviceKind } from '../../engine/devices/device-kinds.js';
import type { BpfProgram } from '../../engine/wire/bpf.js';
import { expressionsOf, filterPlan, type WantedFilters } from './filter-plan.js';
import { LINK_TYPES } from './link-types.js';

/** Returns 0 for everything: what drops what it matches drops nothing. */
const MATCHES_NOTHING: BpfProgram = { instructions: Uint32Array.of(0x06, 0, 0, 0) };

export class FilterPlans {
  readonly #bpf: BpfCompiler;

  constructor(bpf: BpfCompiler) {
    this.#bpf = bpf;
  }

  /** Refuses (400) an expression that cannot be compiled, with the reason. */
  async check(kind: DeviceKind, filters: AcceptedFilters, asker: BpfAsker): Promise<void> {
    const linkType = LINK_TYPES[kind];
    await Promise.all(
      expressionsOf(filters).map((expression) => this.#bpf.compile(expression, linkType, asker)),
    );
  }

  /** Undefined when everything passes as it is. An expression that cannot be compiled is told, and left out. */
  planOf(
    kind: DeviceKind,
    wanted: WantedFilters,
    asker: BpfAsker,
    onIgnored: (message: string) => void,
  ): Promise<FilterPlan | undefined> {
    const linkType = LINK_TYPES[kind];
    return filterPlan(wanted, (expression) =>
      this.#bpf.compile(expression, linkType, asker).catch((error: unknown) => {
        if (!(error instanceof Refusal)) throw error;
        onIgnored(`ignoring BPF packet filter '${expression}': ${error.message}`);
        return MATCHES_NOTHING;
      }),
    );
  }
}
