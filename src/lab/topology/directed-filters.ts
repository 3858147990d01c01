/**
 * What the packet filters of a link do beyond its `filters`: each way by itself, and with a seed. Kept apart from
 * the link, because its object and its place in the topology file are the contract's.
 */
import { acceptFilters, type AcceptedFilters } from './filters.js';
import { findLink } from './link-changes.js';
import type { Topology } from './topology.js';
import type { Transaction } from '../projects/transaction.js';

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

/** Replaces all of it. Returns the text. */
export function directFilters(
  topology: Topology,
  transaction: Transaction,
  linkId: string,
  wanted: DirectedRequest,
): string {
  const link = findLink(topology, linkId);
  const directed: DirectedFilters = {
    backward: acceptFilters(wanted.backward ?? {}),
    forward: acceptFilters(wanted.forward ?? {}),
    link_id: link.link_id,
    seed: wanted.seed ?? null,
  };
  const text = topology.directed.put(transaction, linkId, directed);
  topology.links.retell(transaction, link.link_id);
  return text;
}

export function directedFiltersOf(topology: Topology, linkId: string): DirectedFilters {
  findLink(topology, linkId);
  return topology.directed.get(linkId) ?? undirected(linkId);
}
