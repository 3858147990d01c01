/** Small objects of a topology, as they stand in the store. */
import type { StoredLink, StoredNode } from '../../src/lab/gns3-file/topology-schema.js';

/** A UUID that ends in this number. */
export function idOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

export function storedNodeOf(number: number, more: Partial<StoredNode> = {}): StoredNode {
  return {
    compute_id: 'local',
    node_id: idOf(number),
    node_type: 'ethernet_hub',
    name: `Hub${number}`,
    ...more,
  };
}

/** A link between ports 0 of nodes, or `[node, port]`. */
export function storedLinkOf(number: number, ...ends: readonly (number | [number, number])[]): StoredLink {
  return {
    link_id: idOf(number),
    nodes: ends.map((end) => {
      const [node, port] = typeof end === 'number' ? [end, 0] : end;
      return { node_id: idOf(node), adapter_number: 0, port_number: port };
    }),
  };
}
