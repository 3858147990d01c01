/** The faults of a seed: the same in every run. */
import { Random } from '../random.js';

export const SERVERS = 3;
export const STORES = 3;
export const COMPUTES = ['b', 'c'] as const;

/** A host of the farm: Wirefarms, servers of etcd, computes. */
export type Part = 'server' | 'store' | 'compute';

export type Fault =
  | { readonly kind: 'kill' | 'pause' | 'stop'; readonly part: Part; readonly index: number }
  /** The ways of a server, to all servers of etcd, to the other servers, or to a compute. */
  | {
      readonly kind: 'cut';
      readonly index: number;
      readonly from: 'stores' | 'servers' | 'compute';
      readonly compute: number;
    };

interface PlannedFault {
  readonly fault: Fault;
  /** Time of load before it, and until it is healed. */
  readonly beforeMs: number;
  readonly lastsMs: number;
}

/** Longer than the lease of a server lasts. */
const TAKEN_OVER_MS = 13_000;

export function planOf(seed: number, count: number): PlannedFault[] {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, round) => {
    const fault = faultOf(random, round + seed);
    const isLong = fault.kind === 'pause' && fault.part === 'server' && random.chance(0.5);
    const lastsMs = isLong ? TAKEN_OVER_MS : 1500 + random.below(3000);
    return { fault, beforeMs: 1500 + random.below(1500), lastsMs };
  });
}

/** Seeds that follow each other have other kinds first. */
function faultOf(random: Random, turn: number): Fault {
  const kind = (['kill', 'cut', 'pause', 'stop'] as const)[turn % 4] ?? 'kill';
  if (kind === 'cut') {
    const from = random.pick(['stores', 'servers', 'compute'] as const);
    return { kind, index: random.below(SERVERS), from, compute: random.below(COMPUTES.length) };
  }
  const part = random.pick(['server', 'server', 'store', 'compute'] as const);
  const count = { server: SERVERS, store: STORES, compute: COMPUTES.length }[part];
  return { kind, part, index: random.below(count) };
}

export function wordsOf(fault: Fault): string {
  if (fault.kind !== 'cut') return `${fault.kind} of ${fault.part} ${fault.index}`;
  const end = fault.from === 'compute' ? `compute ${COMPUTES[fault.compute] ?? ''}` : `all ${fault.from}`;
  return `server ${fault.index} is cut off from ${end}`;
}
