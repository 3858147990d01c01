/** A link as clients see it: exactly the contract's 11 keys, sorted. */
import { LOCAL_COMPUTE, type Label, type StoredLink } from '../gns3-file/topology-schema.js';
import type { LinkMedium } from '../kinds/port.js';

const LABEL_STYLE =
  'font-family: TypeWriter;font-size: 10.0;font-weight: bold;fill: #000000;fill-opacity: 1.0;';

/** What a link shows of its capture. */
export interface ShownCapture {
  readonly fileName: string;
  readonly filePath: string;
  readonly isRunning: boolean;
}

export interface LinkView {
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

/** The file of a capture stays named when it has ended. */
export function linkView(
  link: StoredLink,
  projectId: string,
  type: LinkMedium,
  capture: ShownCapture | undefined,
): LinkView {
  const isCapturing = capture?.isRunning === true;
  return {
    capture_compute_id: isCapturing ? LOCAL_COMPUTE : null,
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
