/** The requests of clients on the links of an open project. Those that get a transaction run inside of it. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { refusals } from '../../base/errors/errors.js';
import {
  acceptFilters,
  changedFilters,
  undirected,
  type DirectedFilters,
  type DirectedRequest,
} from './link-filters.js';
import { defaultEndLabel } from './views.js';
import { findNode } from './nodes.js';
import type { Topology } from './topology.js';
import type { LinkMedium } from '../kinds/port.js';
import type { LinkEnd, StoredLink } from '../gns3-file/topology-schema.js';
import type { Client } from '../lab-run.js';
import type { Project } from '../projects/project.js';
import type { Transaction } from '../projects/transaction.js';

interface LinkRequest {
  readonly nodes?: readonly LinkEnd[] | undefined;
  readonly filters?: Readonly<Record<string, unknown>> | undefined;
  readonly link_style?: Readonly<Record<string, unknown>> | undefined;
  readonly suspend?: boolean | undefined;
}

interface NewLink extends LinkRequest {
  readonly nodes: readonly LinkEnd[];
}

const ENDS = 2;
/** Kinds that stand for the world outside: a link between two of them would make a loop through the host. */
const OUTSIDE = new Set(['cloud', 'nat']);

/**
 * Makes a link: reserves its ports and its part of the quotas, connects it, and then stores and announces it in one commit. When one of these
 * fails nothing is left of the link, and nothing was announced. Returns the text of the link.
 */
export async function makeLink(project: Project, client: Client, wanted: NewLink): Promise<string> {
  await checkFilters(project.topology, client, wanted.nodes[0], wanted.filters);
  const { topology, link, giveBack } = await project.change((topology, transaction) => {
    const giveBack = topology.context.quotas.claim(project.id, { links: 1 });
    transaction.onUndo(giveBack);
    return { topology, link: reserveLink(topology, transaction, wanted), giveBack };
  });
  try {
    await topology.run.connect({ link, directed: undirected(link.link_id) });
    return await project.change((current, transaction) => {
      if (current !== topology) throw refusals.projectClosed();
      // The links of the topology count for themselves from here on.
      giveBack();
      return storeLink(topology, transaction, link);
    });
  } catch (error) {
    giveBack();
    topology.portUse.disconnect(link);
    topology.run.linkRemoved(link);
    await topology.run.settled();
    throw error;
  }
}

/** Returns the text of the link. */
export async function changeLink(
  project: Project,
  client: Client,
  id: string,
  wanted: LinkRequest,
): Promise<string> {
  const { topology } = project;
  await checkFilters(topology, client, findLink(topology, id).nodes[0], wanted.filters);
  return project.change((topology, transaction) => updateLink(topology, transaction, id, wanted));
}

/** Replaces the directed filters of a link. Returns their text. */
export async function changeDirection(
  project: Project,
  client: Client,
  id: string,
  wanted: DirectedRequest,
): Promise<string> {
  const { topology } = project;
  const [end] = findLink(topology, id).nodes;
  for (const filters of [wanted.forward, wanted.backward]) await checkFilters(topology, client, end, filters);
  return project.change((topology, transaction) => directFilters(topology, transaction, id, wanted));
}

/** Refuses (400) filters that no link may have, and expressions that do not compile for the link type at this end. */
async function checkFilters(
  topology: Topology,
  client: Client,
  end: LinkEnd | undefined,
  filters: Readonly<Record<string, unknown>> | undefined,
): Promise<void> {
  if (filters === undefined) return;
  const accepted = acceptFilters(filters);
  if (end !== undefined)
    await topology.run.checkFilters(findNode(topology, end.node_id), end, accepted, client);
}

/** The new link, which holds its ports from now on. It is not stored. */
export function reserveLink(topology: Topology, transaction: Transaction, wanted: NewLink): StoredLink {
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
  return link;
}

/**
 * Stores a link whose ports are reserved, unless its nodes have gone or changed since. A link with fewer than two
 * ends is kept as it is and not announced: clients do not expect an event. Returns the text of the link.
 */
export function storeLink(topology: Topology, transaction: Transaction, link: StoredLink): string {
  const { link_id: id, nodes } = link;
  checkEnds(topology, nodes, id);
  return topology.links.put(transaction, id, link, nodes.length === ENDS ? { action: 'created' } : undefined);
}

function updateLink(topology: Topology, transaction: Transaction, id: string, wanted: LinkRequest): string {
  const link = findLink(topology, id);
  const next: StoredLink = {
    ...link,
    ...(wanted.filters === undefined ? {} : { filters: changedFilters(link, wanted.filters) }),
    ...(wanted.link_style === undefined ? {} : { link_style: wanted.link_style }),
    ...(wanted.suspend === undefined ? {} : { suspend: wanted.suspend }),
    ...(wanted.nodes === undefined ? {} : { nodes: relabelled(topology, link, wanted.nodes) }),
  };
  // A request that names ends is always announced: the desktop client waits for it.
  if (wanted.nodes === undefined && isDeepStrictEqual(next, link)) return topology.links.textOf(link);
  return topology.links.put(transaction, id, next, { action: 'updated' });
}

/** Suspends all links of a node, or ends their suspension. */
export function isolateNode(
  topology: Topology,
  transaction: Transaction,
  nodeId: string,
  suspend: boolean,
): void {
  findNode(topology, nodeId);
  for (const id of [...topology.portUse.linksOf(nodeId)]) {
    if ((findLink(topology, id).suspend ?? false) !== suspend)
      updateLink(topology, transaction, id, { suspend });
  }
}

export function deleteLink(topology: Topology, transaction: Transaction, id: string): void {
  topology.removeLink(transaction, findLink(topology, id));
}

function directFilters(
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
  // Others who show the link ask for its filters then.
  topology.links.refresh(transaction, link.link_id, 'updated');
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

/** The contract's checks, in the contract's order. The link itself, when it has an id, may hold the ports. */
function checkEnds(topology: Topology, ends: readonly LinkEnd[], ownId?: string): void {
  let first: { readonly end: LinkEnd; readonly nodeType: string; readonly linkType: LinkMedium } | undefined;
  for (const end of ends) {
    const node = findNode(topology, end.node_id);
    const port = topology.findPort(node, end.adapter_number, end.port_number);
    if (port === undefined) throw refusals.portUnknown(end.adapter_number, end.port_number, node.name);
    if (topology.portUse.isUsed(end, ownId)) throw refusals.portUsed();
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
function relabelled(topology: Topology, link: StoredLink, wanted: readonly LinkEnd[]): StoredLink['nodes'] {
  const labels = new Map<string, LinkEnd['label']>();
  for (const { node_id, label } of wanted) {
    findNode(topology, node_id);
    if (label !== undefined) labels.set(node_id, label);
  }
  return link.nodes.map((end) => ({ ...end, label: labels.get(end.node_id) ?? end.label }));
}
