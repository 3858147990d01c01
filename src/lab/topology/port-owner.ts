/** The settings of a stored node that its ports follow from, with the defaults of its kind. */
import type { StoredNode } from '../gns3-file/topology-schema.js';
import type { CustomAdapter } from '../kinds/custom-adapters.js';
import type { KeptKind, PortOwner, Properties } from '../kinds/node-kind.js';

const DEFAULT_NAMING = { format: 'Ethernet{0}', segmentSize: 0 };
/** The same object each time, so that the settings of two versions of a node can be compared. */
const NO_ADAPTERS: readonly CustomAdapter[] = [];
const NO_PROPERTIES: Properties = {};

export function portNaming(kind: Pick<KeptKind, 'portNaming'> | undefined): typeof DEFAULT_NAMING {
  return kind?.portNaming ?? DEFAULT_NAMING;
}

type NamedPorts = Pick<
  StoredNode,
  'node_id' | 'properties' | 'port_name_format' | 'port_segment_size' | 'first_port_name' | 'custom_adapters'
>;

export function portOwnerOf(
  node: NamedPorts | StoredNode,
  kind: Pick<KeptKind, 'portNaming'> | undefined,
): PortOwner {
  const naming = portNaming(kind);
  return {
    nodeId: node.node_id,
    properties: node.properties ?? NO_PROPERTIES,
    portNameFormat: node.port_name_format ?? naming.format,
    portSegmentSize: node.port_segment_size ?? naming.segmentSize,
    firstPortName: node.first_port_name ?? null,
    customAdapters: node.custom_adapters ?? NO_ADAPTERS,
  };
}

/** Whether the ports of both are the same. Properties and adapters of a node are never changed in place. */
export function hasSamePorts(one: PortOwner, other: PortOwner): boolean {
  return (
    one.nodeId === other.nodeId &&
    one.properties === other.properties &&
    one.portNameFormat === other.portNameFormat &&
    one.portSegmentSize === other.portSegmentSize &&
    one.firstPortName === other.firstPortName &&
    one.customAdapters === other.customAdapters
  );
}
