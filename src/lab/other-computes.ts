/** The contract between the computes on record and what connects them. */
import type { StoredNode } from './gns3-file/topology-schema.js';

/** A compute as it is on record. */
export interface Compute {
  readonly compute_id: string;
  readonly name: string;
  readonly protocol: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  readonly user: string | null;
  readonly password: string | null;
  /** Whether it takes no new nodes. */
  readonly isDrained?: true | undefined;
}

/** The present state of another compute. */
export interface ComputeReach {
  readonly isConnected: boolean;
  readonly nodeTypes: readonly StoredNode['node_type'][];
  /** Undefined until it has been connected once. */
  readonly platform: string | undefined;
  readonly version: string | null;
  /** The number of the dialect between Wirefarms that it speaks; 0 for a compute of GNS3. */
  readonly dialect: number;
  /** The address of its host between hosts, as far as it has told one. */
  readonly tunnelAddress: string | undefined;
  /** Another one after each start of its program; undefined for a compute of GNS3. */
  readonly life: string | undefined;
  readonly cpu: number | null;
  readonly memory: number | null;
  readonly lastError: string | null;
  /** Whether it has turned out to be this server. */
  readonly isSelf: boolean;
  /** The host, as a Wirefarm tells of it. */
  readonly host: ComputeHost | undefined;
}

export interface ComputeHost {
  readonly memoryMib: number;
  readonly processors: number;
  /** The platforms of machines that its processors run themselves. */
  readonly kvm: readonly string[];
  /** The name of the server in its farm. */
  readonly server?: string | undefined;
}

export const OUT_OF_REACH: ComputeReach = {
  isConnected: false,
  nodeTypes: [],
  platform: undefined,
  version: null,
  dialect: 0,
  tunnelAddress: undefined,
  life: undefined,
  cpu: null,
  memory: null,
  lastError: null,
  isSelf: false,
  host: undefined,
};

export interface ComputeCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path below `/v2/compute`. */
  readonly path: string;
  readonly body?: unknown;
}

/** The way between the hosts of two computes, by which their links lead. */
export interface HostPath {
  /** The far compute. */
  readonly compute_id: string;
  readonly name: string;
  /** The addresses of the near and of the far host; null as long as they are not known. */
  readonly address: string | null;
  readonly far_address: string | null;
  /** `whole`: full frames pass in one piece; `slow`: in several; `blocked`: nothing comes back. */
  readonly state: 'whole' | 'slow' | 'blocked' | 'unknown';
  /** The largest frame that came back in one piece, of those that were tried; 0 when none did, null when none could be sent. */
  readonly largest_frame: number | null;
  /** The MTU towards the far host, as far as the near one knows. */
  readonly route_mtu: number | null;
  /** Why nothing is known. */
  readonly reason: string | null;
  /** Milliseconds since 1970. */
  readonly probed_at: number | null;
}

export interface OtherComputes {
  /** A compute is new on record or has changed. */
  stored(compute: Compute): void;
  removed(compute: Compute): void;
  reachOf(id: string): ComputeReach;
  /** The JSON of the answer. Refuses what the compute refuses, and when it is out of reach. */
  ask(id: string, call: ComputeCall): Promise<unknown>;
  /** The ways from a compute, this server included, to all others. */
  pathsOf(id: string): HostPath[];
}

/** For the time before the controller has started. */
export const NO_OTHER_COMPUTES: OtherComputes = {
  stored: () => undefined,
  removed: () => undefined,
  reachOf: () => OUT_OF_REACH,
  ask: () => Promise.reject(new Error('no compute can be asked before the controller has started')),
  pathsOf: () => [],
};
