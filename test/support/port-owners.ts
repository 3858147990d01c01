/** Nodes by the settings that their ports follow from. */
import type { PortOwner, Properties } from '../../src/lab/kinds/node-kind.js';

export const NODE_ID = '12f0324e-5f7a-4c62-8d3a-0f1e2d3c4b5a';

export function portOwnerOf(properties: Properties, more: Partial<PortOwner> = {}): PortOwner {
  return {
    nodeId: NODE_ID,
    properties,
    portNameFormat: 'Ethernet{0}',
    portSegmentSize: 0,
    firstPortName: null,
    customAdapters: [],
    ...more,
  };
}
