/** What clients do to the links of an open project. Each function is one request inside a transaction. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { refusals } from '../../base/errors/errors.js';
import { undirected, type DirectedFilters, type DirectedRequest } from './directed-filters.js';
import { acceptFilters } from './filters.js';
import { defaultEndLabel } from './link-view.js';
import { findNode } from './node-changes.js';
import type { Topology } from './topology.js';
import type { Endpoint, LinkType, StoredLink } from '../gns3-file/topology-schema.js';
import type { Transaction } from '../projects/transaction.js';

export interface LinkRequest {
  readonly nodes?: readonly Endpoint[] | undefined;
  readonly filters?: Readonly<Record<string, unknown>> | undefined;
  readonly link_style?: Readonly<Record<string, unknown>> | undefined;
  readonly suspend?: boolean | undefined;
}

export interface NewLink extends LinkRequest {
  readonly nodes: readonly Endpoint[];
}

const ENDS = 2;
/** Kinds that stand for the world outside: joining two of them would make a loop through the host. */
const OUTSIDE = new Set(['cloud', 'nat']);

/**
 * Returns the id. Nobody is told of the link before `confirmLink`; fewer than two ends are kept as they are and
 * announced to nobody, as clients know it.
 */
export function createLink(topology: Topology, transaction: Transaction, wanted: NewLink): string {
  const filters = acceptFilters(wanted.filters ?? {});
  if (wanted.nodes.length > ENDS) throw refusals.schemaViolated('in nodes', `a link has ${ENDS} ends`);
  checkEnds(topology, wanted.nodes);
  const link: StoredLink = {
    filters,
    link_id: randomUUID(),
    link_style: wanted.link_style ?? {},
    nodes: wanted.nodes.map((end) => ({
      adapter_number: end.adapter_number,
      label: end.label ?? defaultEndLabel(end.adapter_number, end.port_number),
      node_id: end.node_id,
      port_number: end.port_number,
    })),
    suspend: wanted.suspend ?? false,
  };
  topology.portUse.connectIn(transaction, link);
  topology.unconfirmed.add(link.link_id);
  transaction.onUndo(() => {
    topology.unconfirmed.delete(link.link_id);
  });
  topology.links.put(transaction, link.link_id, link, 'unseen');
  return link.link_id;
}

/** A new link that is connected. */
export function confirmLink(topology: Topology, transaction: Transaction, link: StoredLink): void {
  transaction.onStored(() => {
    topology.unconfirmed.delete(link.link_id);
  });
  topology.links.refresh(transaction, link.link_id, link.nodes.length === ENDS ? 'created' : undefined);
}

export function updateLink(
  topology: Topology,
  transaction: Transaction,
  id: string,
  wanted: LinkRequest,
): string {
  const link = findLink(topology, id);
  const next: StoredLink = {
    ...link,
    ...(wanted.filters === undefined ? {} : { filters: acceptFilters(wanted.filters) }),
    ...(wanted.link_style === undefined ? {} : { link_style: wanted.link_style }),
    ...(wanted.suspend === undefined ? {} : { suspend: wanted.suspend }),
    ...(wanted.nodes === undefined ? {} : { nodes: relabelled(topology, link, wanted.nodes) }),
  };
  // A request that names ends is always announced: the desktop client waits for it.
  if (wanted.nodes === undefined && isDeepStrictEqual(next, link)) return topology.links.textOf(link);
  return topology.links.put(transaction, id, next, { action: 'updated' });
}

export function deleteLink(topology: Topology, transaction: Transaction, id: string): void {
  topology.removeLink(transaction, findLink(topology, id));
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

export function findLink(topology: Topology, id: string): StoredLink {
  const link = topology.links.get(id);
  if (link === undefined) throw refusals.linkUnknown(id);
  return link;
}

/** The contract's checks, in the contract's order. */
function checkEnds(topology: Topology, ends: readonly Endpoint[]): void {
  let first: { readonly end: Endpoint; readonly nodeType: string; readonly linkType: LinkType } | undefined;
  for (const end of ends) {
    const node = findNode(topology, end.node_id);
    const port = topology.findPort(node, end.adapter_number, end.port_number);
    if (port === undefined) throw refusals.portUnknown(end.adapter_number, end.port_number, node.name);
    if (topology.portUse.isUsed(end)) throw refusals.portUsed();
    if (first !== undefined) {
      if (first.end.node_id === end.node_id) throw refusals.linkToItself();
      if (OUTSIDE.has(first.nodeType) && OUTSIDE.has(node.node_type)) {
        throw refusals.linkBetween(first.nodeType, node.node_type);
      }
      if (first.linkType !== port.link_type) {
        throw refusals.linkBetween(first.linkType, port.link_type, ' interface');
      }
    }
    first ??= { end, nodeType: node.node_type, linkType: port.link_type };
  }
}

/** Ends cannot be moved: only their labels change, and ends of other nodes are ignored. */
function relabelled(topology: Topology, link: StoredLink, wanted: readonly Endpoint[]): StoredLink['nodes'] {
  const labels = new Map<string, Endpoint['label']>();
  for (const { node_id, label } of wanted) {
    findNode(topology, node_id);
    if (label !== undefined) labels.set(node_id, label);
  }
  return link.nodes.map((end) => ({ ...end, label: labels.get(end.node_id) ?? end.label }));
}
