/** The map of a project: as much of its nodes and links as a picture of all of them needs, in few characters. */
import type { StoredLink, StoredNode } from '../gns3-file/topology-schema.js';
import { undirected } from './link-filters.js';
import type { Topology } from './topology.js';
import { DEFAULT_SIZE, DEFAULT_SYMBOL } from './views.js';

/**
 * The pieces of the text, each made quickly. What is stored while they are made may be in them or not, but for links
 * whose nodes are missing, which are left out: the events after `version` make the map whole.
 */
export function* mapText(topology: Topology, version: number): Generator<string> {
  const places = new Map<string, number>();
  const symbols = new Map<string, number>();
  let separator = '';
  yield `{"project_id":"${topology.projectId}","version":${version},"nodes":[`;
  for (const node of topology.nodes.publishedObjects()) {
    places.set(node.node_id, places.size);
    const symbol = node.symbol ?? DEFAULT_SYMBOL;
    const index = symbols.get(symbol) ?? symbols.size;
    symbols.set(symbol, index);
    yield separator + JSON.stringify(nodeOnMap(topology, node, index));
    separator = ',';
  }
  separator = '';
  yield '],"links":[';
  for (const link of topology.links.publishedObjects()) {
    if (!link.nodes.every(({ node_id: id }) => places.has(id))) continue;
    yield separator + JSON.stringify(linkOnMap(topology, link, places));
    separator = ',';
  }
  yield `],"symbols":${JSON.stringify([...symbols.keys()])},"drawings":${topology.drawings.size}}`;
}

/** Without the settings that have their usual values. */
function nodeOnMap(topology: Topology, node: StoredNode, symbol: number): object {
  return {
    node_id: node.node_id,
    name: node.name,
    node_type: node.node_type,
    status: topology.statusOf(node),
    x: node.x ?? 0,
    y: node.y ?? 0,
    z: node.z ?? 1,
    width: node.width ?? DEFAULT_SIZE.width,
    height: node.height ?? DEFAULT_SIZE.height,
    symbol,
    console: node.console ?? undefined,
    console_type: node.console_type ?? undefined,
    locked: node.locked === true ? true : undefined,
  };
}

/** The ends are triples: the place of the node in the list of nodes, the adapter, the port. */
function linkOnMap(topology: Topology, link: StoredLink, places: ReadonlyMap<string, number>): object {
  const { forward, backward } = topology.directed.get(link.link_id) ?? undirected(link.link_id);
  const type = topology.linkType(link);
  return {
    link_id: link.link_id,
    ends: link.nodes.map((end) => [places.get(end.node_id), end.adapter_number, end.port_number]),
    link_type: type === 'ethernet' ? undefined : type,
    suspend: link.suspend === true ? true : undefined,
    filters: filled(link.filters),
    forward: filled(forward),
    backward: filled(backward),
    capturing: topology.captures.get(link.link_id)?.isRunning === true ? true : undefined,
  };
}

function filled(filters: object | null | undefined): object | undefined {
  return filters == null || Object.keys(filters).length === 0 ? undefined : filters;
}
