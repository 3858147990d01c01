/** A node as clients see it: exactly the contract's 27 keys, sorted, whatever its stored object lacks. */
import type { NodeStatus } from '../lab-run.js';
import type { Port } from '../kinds/port.js';
import type { Label, StoredNode } from '../gns3-file/topology-schema.js';

export const DEFAULT_SYMBOL = ':/symbols/computer.svg';
const DEFAULT_SIZE = { width: 65, height: 59 };

export interface NodeView {
  readonly command_line: string | null;
  readonly compute_id: string;
  readonly console: number | null;
  readonly console_auto_start: boolean;
  readonly console_host: string;
  readonly console_type: string | null;
  readonly custom_adapters: readonly unknown[];
  readonly first_port_name: string | null;
  readonly height: number;
  readonly label: Label;
  readonly locked: boolean;
  readonly name: string;
  readonly node_directory: string | null;
  readonly node_id: string;
  readonly node_type: string;
  readonly port_name_format: string;
  readonly port_segment_size: number;
  readonly ports: readonly Port[];
  readonly project_id: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly status: NodeStatus;
  readonly symbol: string;
  readonly template_id: string | null;
  readonly width: number;
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

export interface NodeSurroundings {
  readonly projectId: string;
  readonly consoleHost: string;
  readonly status: NodeStatus;
  readonly ports: readonly Port[];
}

export function nodeView(node: StoredNode, surroundings: NodeSurroundings): NodeView {
  const height = node.height ?? DEFAULT_SIZE.height;
  return {
    command_line: null,
    compute_id: node.compute_id,
    console: node.console ?? null,
    console_auto_start: node.console_auto_start ?? false,
    console_host: surroundings.consoleHost,
    console_type: node.console_type ?? null,
    custom_adapters: node.custom_adapters ?? [],
    first_port_name: node.first_port_name ?? null,
    height,
    label: node.label ?? defaultLabel(node.name, height),
    locked: node.locked ?? false,
    name: node.name,
    node_directory: null,
    node_id: node.node_id,
    node_type: node.node_type,
    port_name_format: node.port_name_format ?? 'Ethernet{0}',
    port_segment_size: node.port_segment_size ?? 0,
    ports: surroundings.ports,
    project_id: surroundings.projectId,
    properties: node.properties ?? {},
    status: surroundings.status,
    symbol: node.symbol ?? DEFAULT_SYMBOL,
    template_id: node.template_id ?? null,
    width: node.width ?? DEFAULT_SIZE.width,
    x: node.x ?? 0,
    y: node.y ?? 0,
    z: node.z ?? 1,
  };
}

/** The name above the symbol, centred by the client. */
export function defaultLabel(name: string, height: number): Label {
  return { rotation: 0, style: null, text: name, x: null, y: -halfToEven(height / 2 + 10) };
}

/** The reference rounds halves to the even neighbour, and clients compare labels. */
function halfToEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
