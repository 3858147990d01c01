/**
 * What the packet filters of a link do beyond its `filters`: each way by itself, and with a seed. Kept apart from
 * the link, because its object and its place in the topology file are the contract's.
 */
import type { AcceptedFilters } from './filters.js';

export interface DirectedFilters {
  readonly link_id: string;
  /** From the first end of the link to the second: what is named here counts instead of the link's own. */
  readonly forward: AcceptedFilters;
  readonly backward: AcceptedFilters;
  /** With a seed, the same frames meet the same fate every time. */
  readonly seed: number | null;
}

export function undirected(linkId: string): DirectedFilters {
  return { backward: {}, forward: {}, link_id: linkId, seed: null };
}

export interface DirectedRequest {
  readonly forward?: Readonly<Record<string, unknown>> | undefined;
  readonly backward?: Readonly<Record<string, unknown>> | undefined;
  readonly seed?: number | null | undefined;
}
