/** Makes of the packet filters of a link what an engine runs. Expressions are compiled for the link type of the frames. */
import type { BpfAsker, BpfCompiler } from '../../engine/bpf/bpf-compiler.js';
import { Refusal } from '../../base/errors/errors.js';
import type { AcceptedFilters } from '../../lab/topology/link-filters.js';
import type { FilterPlan } from '../../engine/filters/filter-plan.js';
import type { BpfProgram } from '../../engine/wire/bpf.js';
import { LINK_TYPE, type PcapLinkType } from '../../engine/wire/pcap.js';
import { expressionsOf, filterPlan, type WantedFilters } from './filter-plan.js';

/** Returns 0 for every frame, so that a filter with it drops nothing. */
const MATCHES_NOTHING: BpfProgram = { instructions: Uint32Array.of(0x06, 0, 0, 0) };

export class FilterPlans {
  readonly #bpf: BpfCompiler;

  constructor(bpf: BpfCompiler) {
    this.#bpf = bpf;
  }

  /** Refuses (400) an expression that cannot be compiled, with the reason. */
  async check(linkType: PcapLinkType, filters: AcceptedFilters, asker: BpfAsker): Promise<void> {
    await Promise.all(
      expressionsOf(filters).map((expression) => this.#bpf.compile(expression, linkType, asker)),
    );
  }

  /** Returns undefined when everything passes unchanged. An expression that cannot be compiled is told and left out. */
  planOf(
    linkType: PcapLinkType,
    wanted: WantedFilters,
    asker: BpfAsker,
    onIgnored: (message: string) => void,
  ): Promise<FilterPlan | undefined> {
    return filterPlan(wanted, async (expression) => {
      try {
        const program = await this.#bpf.compile(expression, linkType, asker);
        return linkType === LINK_TYPE.SUNATM ? { ...program, seesCells: true } : program;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        onIgnored(`ignoring BPF packet filter '${expression}': ${error.message}`);
        return MATCHES_NOTHING;
      }
    });
  }
}
