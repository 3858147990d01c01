/** Nodes, links and drawings as clients see them: exactly the contract's keys, sorted, whatever the stored objects lack. */
import type { LinkMedium, NodePort } from '../kinds/port.js';
import type { NodeState, NodeStatus } from '../lab-run.js';
import {
  type Label,
  type StoredDrawing,
  type StoredLink,
  type StoredNode,
} from '../gns3-file/topology-schema.js';

export const DEFAULT_SYMBOL = ':/symbols/computer.svg';
export const DEFAULT_SIZE = { width: 65, height: 59 };
const LABEL_STYLE =
  'font-family: TypeWriter;font-size: 10.0;font-weight: bold;fill: #000000;fill-opacity: 1.0;';

/** The contract's 27 keys. */
interface NodeView {
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
  readonly ports: readonly NodePort[];
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

interface NodeContext {
  readonly projectId: string;
  readonly consoleHost: string;
  readonly state: NodeState;
  readonly ports: readonly NodePort[];
}

export function nodeView(node: StoredNode, context: NodeContext): NodeView {
  const height = node.height ?? DEFAULT_SIZE.height;
  return {
    command_line: context.state.commandLine,
    compute_id: node.compute_id,
    console: context.state.console === undefined ? (node.console ?? null) : context.state.console.port,
    console_auto_start: node.console_auto_start ?? false,
    console_host: context.state.console?.host ?? context.consoleHost,
    console_type: node.console_type ?? null,
    custom_adapters: node.custom_adapters ?? [],
    first_port_name: node.first_port_name ?? null,
    height,
    label: node.label ?? defaultLabel(node.name, height),
    locked: node.locked ?? false,
    name: node.name,
    node_directory: context.state.folder,
    node_id: node.node_id,
    node_type: node.node_type,
    port_name_format: node.port_name_format ?? 'Ethernet{0}',
    port_segment_size: node.port_segment_size ?? 0,
    ports: context.ports,
    project_id: context.projectId,
    properties: node.properties ?? {},
    status: context.state.status,
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

/** The part of a capture that its link shows. */
export interface ShownCapture {
  readonly computeId: string;
  readonly fileName: string;
  readonly filePath: string;
  readonly isRunning: boolean;
}

/** The contract's 11 keys. */
interface LinkView {
  readonly capture_compute_id: string | null;
  readonly capture_file_name: string | null;
  readonly capture_file_path: string | null;
  readonly capturing: boolean;
  readonly filters: Readonly<Record<string, unknown>>;
  readonly link_id: string;
  readonly link_style: Readonly<Record<string, unknown>>;
  readonly link_type: LinkMedium;
  readonly nodes: readonly {
    readonly adapter_number: number;
    readonly label: Label;
    readonly node_id: string;
    readonly port_number: number;
  }[];
  readonly project_id: string;
  readonly suspend: boolean;
}

/** A link shows the file of its capture even after the capture has ended. */
export function linkView(
  link: StoredLink,
  projectId: string,
  type: LinkMedium,
  capture: ShownCapture | undefined,
): LinkView {
  const isCapturing = capture?.isRunning === true;
  return {
    capture_compute_id: isCapturing ? capture.computeId : null,
    capture_file_name: capture?.fileName ?? null,
    capture_file_path: capture?.filePath ?? null,
    capturing: isCapturing,
    filters: link.filters ?? {},
    link_id: link.link_id,
    link_style: link.link_style ?? {},
    link_type: type,
    nodes: link.nodes.map((end) => ({
      adapter_number: end.adapter_number,
      label: end.label ?? defaultEndLabel(end.adapter_number, end.port_number),
      node_id: end.node_id,
      port_number: end.port_number,
    })),
    project_id: projectId,
    suspend: link.suspend ?? false,
  };
}

export function defaultEndLabel(adapter: number, port: number): Label {
  return { style: LABEL_STYLE, text: `${adapter}/${port}` };
}

/** The contract's 8 keys. */
export interface DrawingView {
  readonly drawing_id: string;
  readonly locked: boolean;
  readonly project_id: string;
  readonly rotation: number;
  readonly svg: string;
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

export function drawingView(drawing: StoredDrawing, projectId: string): DrawingView {
  return {
    drawing_id: drawing.drawing_id,
    locked: drawing.locked ?? false,
    project_id: projectId,
    rotation: drawing.rotation ?? 0,
    svg: shownSvg(drawing.svg),
    x: drawing.x ?? 0,
    y: drawing.y ?? 0,
    z: drawing.z ?? 2,
  };
}

/** A name is left only of a picture that could not be read; as the reference does, clients see an empty one. */
function shownSvg(svg = ''): string {
  return svg.includes('<svg') ? svg : '<svg></svg>';
}
