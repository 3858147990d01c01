/**
 * The seam between a node and what runs it. The server knows a running node by this interface only where its kind
 * does not matter: a switch is a device on an engine, other kinds may be programs.
 */
import type { NodeStatus } from '../../lab/lab-run.js';
import type { Nio } from '../links/nio.js';

/** Requests on one node never overlap: each waits until those before it are done. */
export interface NodeRuntime {
  /** Follows what really runs: a program that ends by itself is stopped. */
  readonly status: NodeStatus;
  /** Undefined for a node without a console. */
  readonly console: NodeConsole | undefined;
  /** Starts a node that is stopped, resumes one that is suspended, and does nothing to one that runs. */
  start(): Promise<void>;
  /** Resolves when nothing of the node runs any more. Does nothing to a node of a kind that always runs. */
  stop(): Promise<void>;
  /** Does nothing to a node of a kind that cannot be suspended. */
  suspend(): Promise<void>;
  /** Makes a node that runs begin anew, and starts one that does not. */
  reload(): Promise<void>;
  /** Attaches a port for as long as it is not detached, whether or not the node runs. Refuses (409) an attached port. */
  attach(port: number, nio: Nio): Promise<void>;
  /** Refuses (409) a port that is not attached. */
  detach(port: number): Promise<void>;
}

export interface NodeConsole {
  /** Bytes for a node that does not run are lost. */
  write(bytes: Uint8Array): void;
  /** Calls the listener with everything that the node prints from now on. Returns a function that ends this. */
  listen(listener: (bytes: Uint8Array) => void): () => void;
}
