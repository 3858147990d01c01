/** Makes a lab file of a lab that was drawn by hand. A plan of that file for the same lab is empty. */
import { isDeepStrictEqual } from 'node:util';
import { Refusal } from '../../base/errors/errors.js';
import type { StoredLink, StoredNode } from '../gns3-file/topology-schema.js';
import type { NodeKind, Properties } from '../kinds/node-kind.js';
import type { Slices } from '../projects/slices.js';
import { storedFilters } from '../topology/link-filters.js';
import { portNaming } from '../topology/port-owner.js';
import type { Topology } from '../topology/topology.js';
import { labFile, type LabFile } from './lab-file-form.js';
import type { LabFileRecord } from './lab-file-record.js';
import { symbolOf } from './wanted-node.js';

type DrawnNode = LabFile['nodes'][string];

/** The layer of a drawing that is made without one. */
const USUAL_LAYER = 2;

/** Nodes that no host runs are left out, and their links. */
export async function drawnLabFile(
  name: string,
  topology: Topology,
  { drawings: keys }: LabFileRecord,
  slices: Slices,
): Promise<LabFile> {
  const nodes: Record<string, DrawnNode> = {};
  for (const node of topology.nodes.values()) {
    const kind = topology.kindOf(node);
    if (kind !== undefined) nodes[node.name] = drawnNode(topology, node, kind);
    await slices.rest();
  }
  const links: LabFile['links'] = [];
  for (const link of topology.links.values()) {
    const drawn = drawnLink(topology, link);
    if (drawn !== undefined) links.push(drawn);
    await slices.rest();
  }
  const keyOf = new Map(Object.entries(keys).map(([key, id]) => [id, key]));
  const drawings = [...topology.drawings.values()].map((drawing) => {
    const { drawing_id: id, svg, x, y, z, rotation } = topology.viewDrawing(drawing);
    const at = z === USUAL_LAYER ? [x, y] : [x, y, z];
    return [keyOf.get(id) ?? id, { at, svg, ...(rotation === 0 ? {} : { rotation }) }];
  });
  return labFile.parse({ name, nodes, links, drawings: Object.fromEntries(drawings) as unknown });
}

function drawnNode(topology: Topology, node: StoredNode, kind: NodeKind): DrawnNode {
  const naming = portNaming(kind);
  const settings = {
    console_auto_start: [node.console_auto_start, false],
    console_type: [node.console_type, kind.consoleTypes[0] ?? null],
    custom_adapters: [node.custom_adapters, []],
    first_port_name: [node.first_port_name, null],
    port_name_format: [node.port_name_format, naming.format],
    port_segment_size: [node.port_segment_size, naming.segmentSize],
    symbol: [node.symbol, symbolOf(kind)],
  };
  const told = Object.entries(settings).flatMap(([key, [value, usual]]) =>
    value === undefined || isDeepStrictEqual(value, usual) ? [] : [[key, value]],
  );
  return {
    kind: node.node_type,
    at: [node.x ?? 0, node.y ?? 0],
    ...drawnProperties(node, kind),
    ...(Object.fromEntries(told) as Partial<DrawnNode>),
    ...(!kind.alwaysRuns && topology.statusOf(node) === 'started' ? { start: true } : {}),
  };
}

/** The properties that a client may give, but for those that belong to this one node. */
function drawnProperties(node: StoredNode, kind: NodeKind): Pick<DrawnNode, 'ports' | 'properties'> {
  const own = new Set([...(kind.uniqueProperties ?? []), kind.hostNumber?.property]);
  const usual = usualProperties(kind);
  const given = Object.entries(node.properties ?? {}).filter(
    ([key, value]) =>
      key in kind.properties.shape &&
      !own.has(key) &&
      value !== null &&
      !isDeepStrictEqual(value, usual[key]),
  );
  if (given.length === 0) return {};
  return { properties: Object.fromEntries(given) };
}

/** The properties of a new node of the kind; empty for a kind that needs some to be given. */
function usualProperties(kind: NodeKind): Properties {
  try {
    return kind.create({}, '');
  } catch (error) {
    if (error instanceof Refusal) return {};
    throw error;
  }
}

/** Undefined for a link with an end at a node that is left out. */
function drawnLink(topology: Topology, link: StoredLink): LabFile['links'][number] | undefined {
  const [one, other] = link.nodes.map(({ node_id: id, adapter_number: adapter, port_number: port }) => {
    const node = topology.nodes.get(id);
    if (node === undefined || topology.kindOf(node) === undefined) return undefined;
    return `${node.name}:${topology.findPort(node, adapter, port)?.short_name ?? `${adapter}/${port}`}`;
  });
  if (one === undefined || other === undefined) return undefined;
  const filters = storedFilters(link);
  return {
    ends: [one, other],
    ...(Object.keys(filters).length === 0 ? {} : { filters }),
    ...(link.suspend === true ? { suspend: true } : {}),
  };
}
