/**
 * The contract between an open project and what runs it. The lab reports each stored change in order, and the run
 * follows. A report never fails and never waits: the listeners of the project are warned of what cannot run. Only a
 * new link is connected before it is stored, so `connect` answers.
 */
import type { DirectedFilters } from './topology/link-filters.js';
import type { AcceptedFilters } from './topology/link-filters.js';
import type { FarLink, FarNode } from './far-node.js';
import type { Properties } from './kinds/node-kind.js';
import type { CloudInterface } from './kinds/host-interface.js';
import type { StoredLink, StoredNode } from './gns3-file/topology-schema.js';

/** A link, with the filters that it has for one direction only. */
export interface RunLink {
  readonly link: StoredLink;
  readonly directed: DirectedFilters;
}

export interface LinkPlace {
  readonly adapter_number: number;
  readonly port_number: number;
}

export type NodeStatus = 'started' | 'stopped' | 'suspended';

export interface NodeState {
  readonly status: NodeStatus;
  /** The last command line of the program that is the node; null for a node that is no program. */
  readonly commandLine: string | null;
  /** The folder of the node; null for a node without one. */
  readonly folder: string | null;
  /** The console of a node on another compute, which chooses it; undefined for one that runs here. */
  readonly console?: { readonly host: string; readonly port: number | null };
}

/**
 * `running`: as it is wanted. `unreachable`: its compute is not connected. `restoring`: its compute is being told what is
 * wanted. `lost`: its compute does not have it.
 */
export interface RunReport {
  readonly state: 'running' | 'unreachable' | 'restoring' | 'lost';
  /** A sentence about what is not running. */
  readonly reason?: string | undefined;
}

/** How a node or a lab ends: it may go on later where it was, or its content is given up. */
export type RunEnd = 'closing' | 'removed';

export type NodeAction = 'start' | 'stop' | 'suspend' | 'reload';

/** The memory of a guest as it was saved. Its file is where only the server writes. */
export interface SavedMemory {
  /** SHA-256 of the file. */
  readonly digest: string;
  readonly size: number;
  /** The type of the machine with its version: memory fits no other. */
  readonly machine: string;
  /** The parts of the command line that a machine must have in common with the saved one. */
  readonly parts: readonly string[];
}

/** A saved memory and the path of its file. */
export interface KeptMemory extends SavedMemory {
  readonly path: string;
}

/** A node that ran when a snapshot was made. Without a memory it starts anew. */
export interface RanNode {
  readonly node_id: string;
  readonly isSuspended: boolean;
  readonly memory?: SavedMemory | undefined;
}

/** The cost of holding the nodes that run. */
export interface HoldPlan {
  /** The most bytes of memory that are written while they are held. */
  readonly bytes: number;
  /** The folders in which their programs write, below the folder of the project. */
  readonly folders: readonly string[];
  /** Sentences about nodes whose memory is not saved. */
  readonly warnings: readonly string[];
}

/** The nodes of a lab while they stand still. None of them starts or ends meanwhile. */
export interface HeldNodes {
  readonly ran: readonly RanNode[];
  /** Lets them go on. Call it in any case. */
  release(): Promise<void>;
}

/** The nodes that run, while those of them stand still that can: all that these have written is in their files. */
export interface HeldFiles {
  /** The folders in which programs write, below the folder of the project. */
  readonly folders: readonly string[];
  readonly running: readonly { readonly name: string; readonly folder: string; readonly isHeld: boolean }[];
  /** Lets them go on. Call it in any case. */
  release(): Promise<void>;
}

/** The client that waits for an answer. Work that has not begun when the client goes is not done. */
export interface Client {
  readonly isGone: boolean;
}

export interface LabRun {
  /** A node of a kind that is served here is new or has changed. */
  nodeStored(node: StoredNode): void;
  nodeRemoved(node: StoredNode): void;
  /** The compute may have nodes of the project that are not wanted there. */
  visited?(computeId: string): void;
  /**
   * Makes a node on the compute that it names now, beside the one where it runs, which goes on. Refuses what the compute refuses;
   * nothing is left there then.
   */
  makeBeside?(node: StoredNode): Promise<void>;
  /** The node will not be moved: what was made beside it goes. */
  dropBeside?(node: StoredNode): void;
  /** The move of a node that was made beside is stored: it and these links, which are all that it has, are there from now on. */
  moved?(node: StoredNode, links: readonly RunLink[]): void;
  /** All that was stored when the project was opened has been reported. */
  loaded?(): void;
  /** The state of a node that was told. One that is still being made has the state that it will have. */
  stateOf(node: StoredNode): NodeState;
  /** Whether a node that was told runs as it is wanted, stopped or started. */
  nodeReport(node: StoredNode): RunReport;
  linkReport(link: StoredLink): RunReport;
  /** Refuses (409) a new node of a kind that this compute cannot run. */
  checkAble(type: string, computeId: string): Promise<void>;
  /** The node at its compute; undefined for one of this server, and where there are no other computes. */
  farNode?(nodeId: string): FarNode | undefined;
  /** Undefined for a link with an end on this server. */
  farLink?(link: StoredLink): FarLink | undefined;
  /** The settings that act once, for a node of another compute that is about to be stored. */
  giveInputs(nodeId: string, inputs: Properties): void;
  /** Refuses a node that was told and could not be made. */
  checkMade(nodeId: string): void;
  /** The interfaces of the host of this compute, as they are now. */
  hostInterfaces(computeId: string): Promise<readonly CloudInterface[]>;
  /** Starts, stops, suspends or reloads a node. Resolves when that is done, or refuses (409). */
  act(node: StoredNode, action: NodeAction): Promise<void>;
  /** Refuses (409), by their names, nodes that run and cannot be held. */
  planHold(): Promise<HoldPlan>;
  /**
   * Lets all nodes that run stand still, and saves the memory of those that can into this folder, each by the id of its
   * node. Whatever fails, they go on.
   */
  hold(folder: string): Promise<HeldNodes>;
  /** Lets all nodes stand still that can, without saving their memory. The others go on. */
  holdFiles(): Promise<HeldFiles>;
  /** Ends a node whose content is about to be replaced: at once, and without saving anything of it. */
  halt(nodeId: string): Promise<void>;
  /** Stops all nodes that can be stopped, with the memory of guests saved where their kinds can. Warns of what fails. */
  putAway(): Promise<void>;
  /** Starts a node of a snapshot as it ran. Refuses (409) a memory that does not fit. */
  startAgain(nodeId: string, isSuspended: boolean, memory: KeptMemory | undefined): Promise<void>;
  /** Connects both ends of a link that is not stored yet, or refuses and connects none. */
  connect(link: RunLink): Promise<void>;
  /** The link is new or has changed. One that is not connected yet is connected. */
  linkStored(link: RunLink): void;
  /** The link is gone, or could not be stored. */
  linkRemoved(link: StoredLink): void;
  /** Refuses (507) bytes that the folder of the project may not take. What is returned is called when they have come or not. */
  takeRoom(bytes: number): Promise<() => void>;
  /** Resolves when everything reported so far runs, or cannot; undefined when that is so already. */
  settled(): Promise<void> | undefined;
  /** Refuses (400) filters that could not work on a link at this port of the node. */
  checkFilters(node: StoredNode, place: LinkPlace, filters: AcceptedFilters, client: Client): Promise<void>;
  /** Stops everything. */
  end(how: RunEnd): Promise<void>;
}

/** The right of one life of an open project to say what runs on other computes. */
export interface RunRight {
  /** Several servers may have the project, one after the other. */
  readonly isShared: boolean;
  /** False as soon as another server might have the project. */
  holds(): boolean;
  /** The number of this life, which is larger than that of each life before, on any server. It is stored before it is told. */
  epoch(): Promise<number>;
}

/** Begins to run a project that has just been opened. */
export type BeginRun = (projectId: string, right: RunRight) => LabRun;
