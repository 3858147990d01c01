/**
 * The contract for a node that another compute runs, and for a link without an end on this server: requests to that compute
 * about them, with bodies of any length and WebSockets at the pace of the slower end.
 */
import type { Readable } from 'node:stream';
import type { StoredLink, StoredNode } from './gns3-file/topology-schema.js';

export interface FarRequest {
  readonly method: 'GET' | 'POST';
  /** Below the project on the compute. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent at the pace of the compute. */
  readonly body?: Uint8Array | Readable | undefined;
  /** It goes on until somebody ends it: the compute may send nothing for as long as it likes, not even a head. */
  readonly isLive?: boolean;
  /** Ends the request, answered or not. */
  readonly signal?: AbortSignal;
}

export interface FarAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Destroying it ends the request. */
  readonly body: Readable;
}

/** This end of a WebSocket to a compute. */
export interface FarSocketUser {
  /** False when nothing more is to come before `goOn`. */
  received(bytes: Uint8Array, isText: boolean): boolean;
  /** The compute has ended it, or was not reached. Called once, unless `end` was called. */
  ended(code: number, reason: string): void;
}

export interface FarSocket {
  /** Returns how many bytes wait for the compute: the caller bounds them. */
  send(bytes: Uint8Array, isText: boolean): number;
  goOn(): void;
  end(): void;
}

export interface FarNode {
  readonly stored: StoredNode;
  readonly computeId: string;
  readonly computeName: string;
  /** The number of the dialect between Wirefarms in which both speak; 0 for a compute of GNS3. */
  readonly dialect: number;
  /** The compute is connected and has the nodes of the project. */
  readonly isReady: boolean;
  /** The path of the node below the project on the compute. */
  readonly path: string;
  /** The JSON of an answer. Refuses what the compute refuses. */
  ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
  /** Resolves when the answer begins. Refuses what the compute refuses, but for a range beyond the end of a file (416). */
  open(request: FarRequest): Promise<FarAnswer>;
  /** Refuses (409) a compute that is not connected. */
  connect(path: string, user: FarSocketUser): FarSocket;
}

export interface FarEnd {
  readonly node: FarNode;
  readonly place: Pick<StoredLink['nodes'][number], 'adapter_number' | 'port_number'>;
}

/** A link whose ends are both on other computes. */
export interface FarLink {
  readonly ends: readonly FarEnd[];
  /** Another object each time that the link is made; undefined while it is not. */
  readonly made: object | undefined;
}
