/**
 * The choice of the compute for a node that may be anywhere in the farm. It follows from what is given alone: the same computes,
 * in whatever order, lead to the same choice.
 */
import type { NodeLoad } from '../lab/kinds/node-kind.js';
import type { ComputeHost } from '../lab/other-computes.js';

export interface PlacementNeeds {
  /** The kind of the node. */
  readonly type: string;
  readonly load: NodeLoad;
  /** The names of its images. */
  readonly images: readonly string[];
  /** The platform for which KVM helps, and whether the node cannot do without. */
  readonly kvm: { readonly platform: string; readonly isNeeded: boolean } | undefined;
  /** The nodes that its project has already. */
  readonly nodesOfLab: number;
}

export interface PlacementCandidate {
  readonly id: string;
  readonly name: string;
  /** Whether it is the server that has the project. */
  readonly isHere: boolean;
  readonly isConnected: boolean;
  readonly isDrained: boolean;
  readonly nodeTypes: readonly string[];
  /** Undefined when it does not tell. */
  readonly abilities: ComputeHost | undefined;
  /** The room on its host that is given out. */
  readonly given: NodeLoad;
  /** The names of its images; undefined when they are not known. */
  readonly images: ReadonlySet<string> | undefined;
  /** Whether it brings images that it lacks from other servers. */
  readonly bringsImages: boolean;
  /** The nodes of the same project there. */
  readonly nodesOfLab: number;
}

/** Shares of one: a host that is empty is worth as much as two times the whole lab. */
const WEIGHTS = { memory: 1, lab: 0.5, processors: 0.25, images: 0.25, kvm: 0.25 } as const;

/** The compute, or why each of them cannot have the node. */
type PlacementChoice<Candidate> = { readonly chosen: Candidate } | { readonly lacks: readonly string[] };

export function choosePlacement<Candidate extends PlacementCandidate>(
  needs: PlacementNeeds,
  candidates: readonly Candidate[],
): PlacementChoice<Candidate> {
  const lacks: string[] = [];
  let best: { readonly candidate: Candidate; readonly score: number } | undefined;
  for (const candidate of candidates) {
    const lack = lackOf(needs, candidate, candidates);
    if (lack !== undefined) {
      lacks.push(`${candidate.name} ${lack}`);
      continue;
    }
    const score = scoreOf(needs, candidate);
    if (
      best === undefined ||
      score > best.score ||
      (score === best.score && isBefore(candidate, best.candidate))
    )
      best = { candidate, score };
  }
  return best === undefined ? { lacks: lacks.sort() } : { chosen: best.candidate };
}

/** The reason why the node cannot be there: the end of a sentence. An image that no compute has is no reason. */
export function lackOf(
  { type, load, images, kvm }: PlacementNeeds,
  candidate: PlacementCandidate,
  candidates: readonly PlacementCandidate[],
): string | undefined {
  const { isConnected, isDrained, nodeTypes, abilities, given } = candidate;
  if (!isConnected) return 'is not connected';
  if (isDrained) return 'is drained';
  if (!nodeTypes.includes(type)) return `cannot run nodes of type ${type}`;
  if (abilities === undefined) return 'does not tell how much memory it has';
  if (kvm?.isNeeded === true && !abilities.kvm.includes(kvm.platform))
    return `has no KVM for ${kvm.platform}`;
  const missing = images.find(
    (image) =>
      candidate.images?.has(image) === false &&
      candidates.some((other) => other.images?.has(image)) &&
      !(candidate.bringsImages && candidates.some((other) => other.bringsImages && other.images?.has(image))),
  );
  if (missing !== undefined) return `does not have the image ${missing}`;
  if (load.processors > abilities.processors)
    return `has ${abilities.processors} processors of the ${load.processors} that are needed`;
  const free = Math.max(0, abilities.memoryMib - given.memoryMib);
  if (load.memoryMib > free) return `has ${free} MiB of memory left of the ${load.memoryMib} that are needed`;
  return undefined;
}

function scoreOf({ load, images, kvm, nodesOfLab }: PlacementNeeds, candidate: PlacementCandidate): number {
  const { abilities, given, isHere } = candidate;
  if (abilities === undefined) return 0;
  const memory = shareLeft(abilities.memoryMib, given.memoryMib + load.memoryMib);
  const processors = shareLeft(abilities.processors, given.processors + load.processors);
  const has = images.filter((image) => candidate.images?.has(image)).length;
  // The server that has the project counts as one of its nodes: consoles and files are nearer there.
  const lab = (candidate.nodesOfLab + Number(isHere)) / (nodesOfLab + 1);
  return (
    WEIGHTS.memory * memory +
    WEIGHTS.lab * lab +
    WEIGHTS.processors * processors +
    WEIGHTS.images * (images.length === 0 ? 0 : has / images.length) +
    WEIGHTS.kvm * Number(kvm !== undefined && abilities.kvm.includes(kvm.platform))
  );
}

function shareLeft(all: number, taken: number): number {
  return all > 0 ? Math.max(0, (all - taken) / all) : 0;
}

function isBefore(a: PlacementCandidate, b: PlacementCandidate): boolean {
  return a.isHere === b.isHere ? a.id < b.id : a.isHere;
}
