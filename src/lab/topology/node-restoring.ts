/** Restores one node to an earlier state, while everything else stays as it is. */
import type { DirectedFilters } from './link-filters.js';
import type { Topology } from './topology.js';
import type { StoredLink, StoredNode } from '../gns3-file/topology-schema.js';
import type { Transaction } from '../projects/transaction.js';

export interface EarlierNode {
  readonly node: StoredNode;
  /** The links that ended at it. */
  readonly links: readonly StoredLink[];
  /** The directed filters of those links. */
  readonly directed: readonly DirectedFilters[];
}

/**
 * Restores the node, and those of its links that are gone and whose ports are both there and free. Returns the node's
 * text.
 */
export function restoreNode(
  topology: Topology,
  transaction: Transaction,
  { node, links, directed }: EarlierNode,
): string {
  const present = topology.nodes.get(node.node_id);
  const restored: StoredNode = {
    ...node,
    name: nameFor(topology, transaction, node, present),
    console: consoleFor(topology, transaction, node, present),
    ...propertiesFor(topology, transaction, node, present),
  };
  const action = present === undefined ? 'created' : 'updated';
  topology.nodes.put(transaction, node.node_id, restored, { action });
  for (const link of links) {
    const filters = directed.find(({ link_id }) => link_id === link.link_id);
    restoreLink(topology, transaction, link, filters);
  }
  return topology.nodes.textOf(restored);
}

/** The earlier name, unless another node has it by now. */
function nameFor(
  topology: Topology,
  transaction: Transaction,
  node: StoredNode,
  present: StoredNode | undefined,
): string {
  if (present?.name === node.name) return node.name;
  if (present !== undefined) {
    topology.names.release(present.name);
    transaction.onUndo(() => {
      topology.names.keep(present.name);
    });
  }
  const name = topology.names.takeBack(node.name);
  transaction.onUndo(() => {
    topology.names.release(name);
  });
  return name;
}

/** A node that is there keeps its console port: clients may be connected. */
function consoleFor(
  topology: Topology,
  transaction: Transaction,
  node: StoredNode,
  present: StoredNode | undefined,
): StoredNode['console'] {
  if (present !== undefined) return present.console;
  const hasConsole = (topology.kindOf(node)?.consoleTypes.length ?? 0) > 0;
  return hasConsole ? topology.reserveConsole(transaction, node.console) : node.console;
}

/** A node that is there keeps the number that only it has. */
function propertiesFor(
  topology: Topology,
  transaction: Transaction,
  { node_type, compute_id, properties }: StoredNode,
  present: StoredNode | undefined,
): Pick<StoredNode, 'properties'> {
  const kind = topology.kindOf({ node_type, compute_id });
  const property = kind?.hostNumber?.property;
  if (kind === undefined || property === undefined || properties === undefined) return {};
  if (present === undefined)
    return { properties: topology.context.hostNumbers.takeIn(transaction, kind, properties) };
  return { properties: { ...properties, [property]: present.properties?.[property] } };
}

function restoreLink(
  topology: Topology,
  transaction: Transaction,
  link: StoredLink,
  directed: DirectedFilters | undefined,
): void {
  if (topology.links.get(link.link_id) !== undefined) return;
  const isFree = link.nodes.every((end) => {
    const node = topology.nodes.get(end.node_id);
    if (node === undefined || topology.portUse.isUsed(end)) return false;
    return topology.findPort(node, end.adapter_number, end.port_number) !== undefined;
  });
  if (!isFree) return;
  topology.portUse.connectIn(transaction, link);
  // The filters come first, because the link starts with them.
  if (directed !== undefined) topology.directed.put(transaction, link.link_id, directed);
  topology.links.put(transaction, link.link_id, link, { action: 'created' });
}
