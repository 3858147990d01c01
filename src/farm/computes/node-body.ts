/** Nodes as GNS3's compute interface takes them: their properties stand beside what all nodes have. */
import { storedList } from '../../lab/kinds/ports-mapping.js';
import { servedKind } from '../../lab/kinds/node-kinds.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';

/** The path of a node, or with `all` that of the nodes of its kind. */
export function nodePath(
  { node_type: type, node_id: id }: StoredNode,
  projectId: string,
  which = 'one',
): string {
  const all = `/projects/${projectId}/${type}/nodes`;
  return which === 'all' ? all : `${all}/${id}`;
}

/** Computes of GNS3 refuse what is null, and consoles of kinds that have none. */
export function nodeBody(node: StoredNode, console: number | null | undefined): Record<string, unknown> {
  const { name, properties = {}, custom_adapters: adapters = [], console_type: type } = node;
  const hasConsole = (servedKind(node.node_type)?.consoleTypes.length ?? 0) > 0;
  const wanted = node.console ?? console ?? undefined;
  const mapping = storedList(properties).map((entry, index) => ({
    ...(entry as object),
    port_number: index,
  }));
  const fields = {
    ...properties,
    ...('ports_mapping' in properties ? { ports_mapping: mapping } : {}),
    ...(adapters.length > 0 ? { custom_adapters: adapters } : {}),
    ...(hasConsole ? { console: wanted, console_type: type } : {}),
    name,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
}
