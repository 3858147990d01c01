/** The plan of a lab file: the changes that lead from the lab as it is to the lab as the file wants it. */
import type { CloudInterface } from '../kinds/host-interface.js';
import type { AcceptedFilters } from '../topology/link-filters.js';
import type { NewNode } from '../topology/nodes.js';
import type { Topology } from '../topology/topology.js';
import type { FileContent, LabFile, LabLink } from './lab-file-form.js';
import type { LabFileRecord } from './lab-file-record.js';
import type { KnownTemplates } from './wanted-node.js';

export interface LabChange {
  readonly action: 'create' | 'change' | 'remove' | 'start' | 'stop';
  readonly what: 'node' | 'link' | 'drawing' | 'file' | 'capture';
  readonly name: string;
  readonly from: unknown;
  readonly to: unknown;
  /** Whether it acts at once, needs a new start of its node, or makes its node anew. */
  readonly cost: 'live' | 'restart' | 'recreate';
}

export interface PlanRequest {
  readonly file: LabFile;
  readonly record: LabFileRecord;
  readonly topology: Topology;
  readonly templates: KnownTemplates;
  /** The interfaces of the host, for kinds that use them. */
  readonly interfaces: readonly CloudInterface[];
  /** Whether objects go that no lab file has named. */
  readonly prunes: boolean;
}

/** One end of a link, by the name of its node, which may not be there yet. */
export interface PlannedEnd {
  readonly node: string;
  readonly adapter: number;
  readonly port: number;
}

export interface PlannedLink {
  readonly ends: readonly [PlannedEnd, PlannedEnd];
  readonly filters: AcceptedFilters;
  readonly suspend: boolean;
}

type NodeUpdate = Omit<NewNode, 'node_type' | 'compute_id' | 'name'>;
interface DrawingSettings {
  readonly svg: string;
  readonly x?: number;
  readonly y?: number;
  readonly rotation?: number | undefined;
}

/** The work of a plan, in the order in which it is done. */
export interface PlannedWork {
  readonly endedCaptures: string[];
  readonly removedLinks: string[];
  /** Nodes that stop for good, and those that a change makes stop. */
  readonly stopped: string[];
  readonly removedNodes: string[];
  readonly removedDrawings: string[];
  readonly newNodes: NewNode[];
  readonly changedNodes: { readonly id: string; readonly name: string; readonly settings: NodeUpdate }[];
  readonly newDrawings: { readonly key: string; readonly settings: DrawingSettings }[];
  readonly changedDrawings: { readonly id: string; readonly settings: DrawingSettings }[];
  readonly files: {
    readonly node: string;
    readonly path: string;
    readonly content: Exclude<FileContent, { readonly sha256: string }>;
  }[];
  readonly newLinks: PlannedLink[];
  readonly changedLinks: {
    readonly id: string;
    readonly settings: { readonly filters?: AcceptedFilters; readonly suspend?: boolean };
  }[];
  /** Names of nodes. */
  readonly started: string[];
  readonly captures: {
    readonly ends: PlannedLink['ends'];
    readonly settings: NonNullable<LabLink['capture']>;
  }[];
}

export interface LabPlan {
  readonly changes: readonly LabChange[];
  readonly work: PlannedWork;
  /** The digest of the changes: two plans with the same one do the same. */
  readonly digest: string;
}

export function noWork(): PlannedWork {
  return {
    ...{ endedCaptures: [], removedLinks: [], stopped: [], removedNodes: [], removedDrawings: [] },
    ...{ newNodes: [], changedNodes: [], newDrawings: [], changedDrawings: [], files: [] },
    ...{ newLinks: [], changedLinks: [], started: [], captures: [] },
  };
}

/** The nodes that either file of the record names. */
export function namedBefore({ applied, under_way: begun }: LabFileRecord): Set<string> {
  return new Set([...Object.keys(applied?.nodes ?? {}), ...Object.keys(begun?.nodes ?? {})]);
}
