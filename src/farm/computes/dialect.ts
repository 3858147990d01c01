/** The way in which a part of a project is told to its compute: by GNS3's calls, or as what is wanted of it. */
import type { Emulator } from '../../files/images/image-name.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';
import type { Properties } from '../../lab/kinds/node-kind.js';
import type { LinkPlace, RunEnd, RunRight } from '../../lab/lab-run.js';
import type { EndFilters } from '../../run/links/nio.js';

/** A node as it should be there. */
export interface NodeWish {
  readonly stored: StoredNode;
  /** The node as the compute has it; undefined when it has none. */
  readonly made: StoredNode | undefined;
  readonly console: number | null | undefined;
  /** The settings that act once. */
  readonly inputs: Properties | undefined;
  /** It ran before its compute lost it. */
  readonly shouldRun: boolean;
}

/** The end of a link at a port of a node. */
export interface PortAt {
  readonly node: StoredNode;
  readonly place: LinkPlace;
  readonly linkId: string;
}

export interface TunnelEnd {
  readonly lport: number;
  readonly rhost: string;
  readonly rport: number;
  readonly suspend: boolean;
  readonly filters: Readonly<Record<string, unknown>>;
  readonly directed?: EndFilters | undefined;
}

export interface Dialect {
  /** Nodes that are brought at the same time. */
  readonly nodesAtOnce: number;
  /** Whether filters at the port of a switch can be changed. */
  readonly changesSwitches: boolean;
  /** Whether an end can have filters of one way. */
  readonly filtersOneWay: boolean;
  /**
   * Finds out what a compute has that is connected, in this life of its program, when it tells that. Resolves with false when that is
   * what it was told.
   */
  begin(life: string | undefined): Promise<boolean>;
  /** Removes what the beginning has found there, where nothing is wanted. */
  clear(): Promise<void>;
  /** Makes or changes a node. Resolves with how it is now; refuses what the compute refuses. */
  bring(wish: NodeWish): Promise<unknown>;
  /** The node as the compute has it, which was told it before; undefined when it has lost it. */
  look(stored: StoredNode): Promise<unknown>;
  remove(stored: StoredNode, isMade: boolean): Promise<void>;
  takePort(at: PortAt): Promise<number>;
  /** Takes back a port that was never used. */
  keepPort(at: PortAt, port: number): void;
  attach(at: PortAt, end: TunnelEnd): Promise<void>;
  /** Changes filters and suspension. */
  change(at: PortAt, end: TunnelEnd): Promise<void>;
  detach(at: PortAt): Promise<void>;
  /** Whether the last beginning has left the link with another port at this compute, or with none. */
  hasLost(linkId: string): boolean;
  /** Lets go of the ends of all links that are not wanted. */
  keepLinks(isWanted: (linkId: string) => boolean): void;
  /** Ends the project there. */
  end(how: RunEnd): Promise<void>;
}

export interface DialectOptions {
  readonly projectId: string;
  readonly right: RunRight;
  /** The name of the project. */
  readonly name: () => string;
  readonly computeName: () => string;
  /** The number of the dialect between Wirefarms in which both speak; 0 for a compute of GNS3. */
  readonly spoken: () => number;
  readonly ask: Ask;
  /** Ends this life of the project there, now or when the compute is connected, unless another life has spoken there meanwhile. */
  readonly endThere: (epoch: number, how: RunEnd) => Promise<void>;
  /** Uploads an image of this server to the compute. Resolves with false when there is none. */
  readonly pushImage: (emulator: Emulator, name: string) => Promise<boolean>;
}

export type Ask = (
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
  deadline?: number,
) => Promise<unknown>;
