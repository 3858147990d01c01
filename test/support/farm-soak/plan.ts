/** The faults of a seed: the same in every run. */
import { Random } from '../random.js';

export const SERVERS = 3;
export const STORES = 3;
export const COMPUTES = ['b', 'c'] as const;

/** A host of the farm: Wirefarms, servers of etcd, computes. */
export type Part = 'server' | 'store' | 'compute';

export type Fault =
  | { readonly kind: 'kill' | 'pause' | 'stop'; readonly part: Part; readonly index: number }
  /** The ways of a server, to all servers of etcd, to the other servers, or to a compute; or one direction of them. */
  | {
      readonly kind: 'cut';
      readonly index: number;
      readonly from: 'stores' | 'servers' | 'compute';
      readonly compute: number;
      readonly way: Way;
    }
  /** The power of servers of etcd: what they have not synced is gone. */
  | { readonly kind: 'power'; readonly stores: readonly number[] }
  /** The disk of a server of etcd has no room. */
  | { readonly kind: 'full'; readonly index: number }
  /** The history of etcd goes, and its files shrink. */
  | { readonly kind: 'compaction' }
  /** A server starts again with a clock that is an hour off. */
  | { readonly kind: 'clock'; readonly index: number; readonly hours: number };

/** Both directions, what the first sends, or what it gets. */
export type Way = 'both' | 'out' | 'in';

interface PlannedRound {
  /** Struck one after the other, and healed in the other order. */
  readonly faults: readonly Fault[];
  /** Time of load before them, and until they are healed. */
  readonly beforeMs: number;
  readonly lastsMs: number;
}

/** Longer than the lease of a server lasts. */
const TAKEN_OVER_MS = 13_000;
const KINDS = ['kill', 'cut', 'pause', 'stop', 'power', 'compaction', 'full', 'clock'] as const;

export function planOf(seed: number, count: number): PlannedRound[] {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, round) => {
    const faults = faultsOf(random, round + seed);
    const isLong = faults.some(
      (fault) => fault.kind === 'pause' && fault.part === 'server' && random.chance(0.5),
    );
    const lastsMs = isLong ? TAKEN_OVER_MS : 1500 + random.below(3000);
    return { faults, beforeMs: 1500 + random.below(1500), lastsMs };
  });
}

/** One to three faults, each of another program. Seeds that follow each other have other kinds first. */
function faultsOf(random: Random, turn: number): Fault[] {
  const faults: Fault[] = [];
  const struck = new Set<string>();
  const most = random.pick([1, 1, 2, 3]);
  for (let tries = 0; faults.length < most && tries < 10; tries++) {
    const kind = tries === 0 ? KINDS[turn % KINDS.length] : random.pick(KINDS);
    const fault = faultOf(random, kind ?? 'kill');
    const programs = programsOf(fault);
    if (programs.some((program) => struck.has(program))) continue;
    for (const program of programs) struck.add(program);
    faults.push(fault);
  }
  return faults.sort((one, other) => rankOf(one) - rankOf(other));
}

function faultOf(random: Random, kind: (typeof KINDS)[number]): Fault {
  switch (kind) {
    case 'cut':
      return {
        ...{ kind, index: random.below(SERVERS), compute: random.below(COMPUTES.length) },
        from: random.pick(['stores', 'servers', 'compute'] as const),
        way: random.pick(['both', 'both', 'out', 'in'] as const),
      };
    case 'power':
      return {
        kind,
        stores: random.chance(0.5) ? Array.from({ length: STORES }, (_, at) => at) : [random.below(STORES)],
      };
    case 'full':
      return { kind, index: random.below(STORES) };
    case 'compaction':
      return { kind };
    case 'clock':
      return { kind, index: random.below(SERVERS), hours: random.pick([-1, 1]) };
    case 'kill':
    case 'pause':
    case 'stop': {
      const part = random.pick(['server', 'server', 'store', 'compute'] as const);
      const count = { server: SERVERS, store: STORES, compute: COMPUTES.length }[part];
      return { kind, part, index: random.below(count) };
    }
  }
}

/** Programs that servers of the farm need to start are struck after them, and so healed before them. */
function rankOf(fault: Fault): number {
  if (fault.kind === 'clock') return 0;
  return 'part' in fault && fault.part !== 'store' ? 1 : 2;
}

/** The programs that a fault strikes; cuts of a server go with any other fault, but not with another cut of it. */
function programsOf(fault: Fault): string[] {
  switch (fault.kind) {
    case 'cut':
      return [`ways of server ${fault.index}`];
    case 'power':
      return fault.stores.map((index) => `store ${index}`);
    case 'full':
      return [`store ${fault.index}`];
    case 'compaction':
      return ['history'];
    case 'clock':
      return [`server ${fault.index}`];
    case 'kill':
    case 'pause':
    case 'stop':
      return [`${fault.part} ${fault.index}`];
  }
}

export function wordsOf(fault: Fault): string {
  switch (fault.kind) {
    case 'cut': {
      const end = fault.from === 'compute' ? `compute ${COMPUTES[fault.compute] ?? ''}` : `all ${fault.from}`;
      const way = { both: 'is cut off from', out: 'cannot send to', in: 'hears nothing of' }[fault.way];
      return `server ${fault.index} ${way} ${end}`;
    }
    case 'power':
      return `power cut of store ${fault.stores.join(', ')}`;
    case 'full':
      return `full disk of store ${fault.index}`;
    case 'compaction':
      return 'compaction';
    case 'clock':
      return `clock of server ${fault.index} is ${fault.hours > 0 ? 'ahead' : 'behind'} by an hour`;
    case 'kill':
    case 'pause':
    case 'stop':
      return `${fault.kind} of ${fault.part} ${fault.index}`;
  }
}
