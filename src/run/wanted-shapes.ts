/** The dialect between Wirefarms: what a controller wants of this compute, and what the compute answers. */
import type { NodeKind, Properties } from '../lab/kinds/node-kind.js';
import type { NodeStatus } from '../lab/lab-run.js';
import type { LinkEndCounts } from './links/end-counts.js';
import type { EndFilters } from './links/nio.js';
import type { NodeSettings } from './nodes/compute-node.js';

/** Its number. A controller speaks the lower one of both: a compute refuses fields that it does not know. */
export const DIALECT = 2;
/** The numbers from which it has something. */
export const SINCE = {
  /** The graph that is wanted of a project. */
  wanted: 1,
  /** Filters of one way, and captures that go on in their files and are told with their state. */
  captures: 2,
} as const;

export interface WantedComputeNode {
  readonly node_id: string;
  readonly kind: NodeKind;
  readonly settings: NodeSettings & { readonly name: string; readonly inputs: Properties };
  /** A node without it is left as it is: a controller that has just started does not know what runs. */
  readonly status?: NodeStatus | undefined;
}

/** The port of a node. */
export interface PortPlace {
  readonly node_id: string;
  readonly adapter_number: number;
  readonly port_number: number;
}

/** The end of a link at a port of a node here. */
export interface WantedAttachment extends PortPlace {
  readonly link_id: string;
  /** The UDP port that it had when the compute ran before: it gets this one again when it is free. */
  readonly lport?: number | undefined;
  /** The far end. Without it a port is reserved, and what is attached stays. */
  readonly peer?: { readonly host: string; readonly port: number } | undefined;
  readonly suspend: boolean;
  readonly filters: Readonly<Record<string, unknown>>;
  readonly directed?: EndFilters | undefined;
}

export interface WantedChange {
  /** Grows with each controller that takes the project over. */
  readonly epoch: number;
  /** Grows with each change of what is wanted. */
  readonly number: number;
  /** The lists have what has changed since this number; without it they are all that is wanted. */
  readonly since?: number | undefined;
  readonly nodes: readonly WantedComputeNode[];
  readonly attachments: readonly WantedAttachment[];
  readonly removed_nodes: readonly string[];
  readonly removed_attachments: readonly PortPlace[];
}

/** Why something does not run: as a refusal of its own request would be. */
export interface WantedFault {
  readonly status: number;
  readonly message: string;
}

export interface ActualNode {
  readonly node_id: string;
  readonly status: NodeStatus | null;
  readonly console: number | null;
  readonly command_line: string | null;
  readonly node_directory: string | null;
  readonly fault: WantedFault | null;
}

export interface ActualAttachment extends PortPlace {
  readonly link_id: string;
  /** The UDP port that this compute has chosen. */
  readonly lport: number | null;
  readonly fault: WantedFault | null;
}

export interface AttachmentCounts extends LinkEndCounts {
  readonly link_id: string;
  readonly node_id: string;
}

export interface Actual {
  /** As the last request that was followed had them; 0 when there was none. */
  readonly epoch: number;
  readonly number: number;
  readonly nodes: readonly ActualNode[];
  readonly attachments: readonly ActualAttachment[];
}

/** Bounds of a request, which are also those of what a project can have here. */
export const MOST_WANTED = { nodes: 4096, attachments: 16_384 } as const;

export function placeKey({ node_id: id, adapter_number: adapter, port_number: port }: PortPlace): string {
  return `${id} ${adapter} ${port}`;
}
