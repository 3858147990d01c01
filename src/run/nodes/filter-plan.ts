/** Turns the filters of a link into the stages that an engine runs at one of its ports. */
import { randomInt } from 'node:crypto';
import { storedFilters, type AcceptedFilters } from '../../lab/topology/link-filters.js';
import { STAGE_ORDER, type FilterPlan, type FilterStage } from '../../engine/filters/filter-plan.js';
import type { BpfProgram } from '../../engine/wire/bpf.js';

/** Stored values that are not valid are ignored. */
export interface WantedFilters {
  readonly both: AcceptedFilters;
  /** Filters of frames that leave the device; they replace those of the same type in `both`. */
  readonly outward: AcceptedFilters;
  readonly inward: AcceptedFilters;
  /** Undefined chooses a seed at random. */
  readonly seed: number | undefined;
}

type CompileBpf = (expression: string) => Promise<BpfProgram>;

/** The values that zeros stand for; `lab/topology/filters.ts` documents them for clients. */
const USUAL_QUEUE_MS = 500;
const USUAL_HOLD_MS = 10;
/** Seeds are words of 32 bits. */
const SEEDS = 2 ** 32;

/** Returns undefined when there is nothing to filter. Rejects only as `compile` does. */
export async function filterPlan(
  { both, outward, inward, seed = randomInt(SEEDS) }: WantedFilters,
  compile: CompileBpf,
): Promise<FilterPlan | undefined> {
  const common = storedFilters({ filters: both });
  const stagesOf = async (directed: AcceptedFilters): Promise<FilterStage[]> => {
    const filters = { ...common, ...storedFilters({ filters: directed }) };
    const stages = await Promise.all(STAGE_ORDER.map((type) => stageOf(type, filters, compile)));
    return stages.filter((stage) => stage !== undefined);
  };
  const [out, into] = await Promise.all([stagesOf(outward), stagesOf(inward)]);
  return out.length + into.length === 0 ? undefined : { seed, outward: out, inward: into };
}

/** The lines of the BPF filter that are not empty. */
export function expressionsOf(filters: AcceptedFilters): string[] {
  const [text] = filters['bpf'] ?? [];
  if (typeof text !== 'string') return [];
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

async function stageOf(
  type: FilterStage['type'],
  filters: AcceptedFilters,
  compile: CompileBpf,
): Promise<FilterStage | undefined> {
  const values = filters[type];
  if (values === undefined) return undefined;
  if (type === 'bpf') {
    const programs = await Promise.all(expressionsOf(filters).map((expression) => compile(expression)));
    return programs.length === 0 ? undefined : { type, programs };
  }
  const [first = 0, second = 0] = values.map(Number);
  switch (type) {
    case 'frequency_drop':
      return { type, every: first };
    case 'packet_loss':
    case 'corrupt':
    case 'duplicate':
      return { type, percent: first };
    case 'reorder':
      return { type, percent: first, holdMs: second === 0 ? USUAL_HOLD_MS : second };
    case 'rate':
      return { type, kilobits: first, queueMs: second === 0 ? USUAL_QUEUE_MS : second };
    case 'delay':
      return { type, latencyMs: first, jitterMs: second };
  }
}
