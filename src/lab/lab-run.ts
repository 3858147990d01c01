/**
 * How the stored content of an open project is made to run. The lab tells what is stored, in order; whoever runs
 * it follows. Telling never fails and never waits: what could not be made to run is told to the project's
 * listeners, or, of a link that is just being made, to whoever makes it.
 */
import type { DirectedFilters } from './topology/directed-filters.js';
import type { AcceptedFilters } from './topology/filters.js';
import type { StoredLink, StoredNode } from './gns3-file/topology-schema.js';

/** A link that runs, with what it does besides. */
export interface RunLink {
  readonly link: StoredLink;
  readonly directed: DirectedFilters;
  /** Its maker waits to hear whether it can be connected. */
  readonly isNew: boolean;
}

/** Who waits for an answer: what is not begun yet is left out when it has gone. */
export interface Client {
  readonly isGone: boolean;
}

export interface LabRun {
  /** A node of a kind that is served here is new or has changed. */
  nodeStored(node: StoredNode): void;
  nodeRemoved(node: StoredNode): void;
  linkStored(run: RunLink): void;
  linkRemoved(link: StoredLink): void;
  /** Resolves when everything told so far runs, or cannot; undefined when that is so already. */
  settled(): Promise<void> | undefined;
  /** Why a new link could not be connected; asked once. */
  takeFailure(linkId: string): Error | undefined;
  /** Refuses (400) filters that could not work on a link of this node. */
  checkFilters(node: StoredNode, filters: AcceptedFilters, client: Client): Promise<void>;
  /** Stops everything. */
  end(): Promise<void>;
}

/** Begins to run a project that has just been opened. */
export type BeginRun = (projectId: string) => LabRun;
